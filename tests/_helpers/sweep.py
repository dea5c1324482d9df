"""Whether tests try a sample, or all of it."""

import os

#: With NPACCEL_TEST_SWEEP=full.
FULL = os.environ.get("NPACCEL_TEST_SWEEP") == "full"


def tries(sample, full):
    """Return how often to try something."""
    return full if FULL else sample
