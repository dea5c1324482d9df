"""Fixtures of the tests of the disk cache."""

from cache_helpers import cache, fresh_warnings, root

__all__ = ["cache", "fresh_warnings", "root"]
