"""What tests of loops under transforms share."""

import pytest

from npaccel._torch.transforms import attempts


@pytest.fixture
def failures(monkeypatch):
    """Reasons why loops weren't scans."""
    found = []
    fail = attempts.Attempts.fail

    def noted(self, place, reason, *, for_good=False):
        found.append(reason)
        fail(self, place, reason, for_good=for_good)

    monkeypatch.setattr(attempts.Attempts, "fail", noted)
    return found
