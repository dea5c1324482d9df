"""All environment variables of npaccel stand in one table, and on one page."""

import re
from pathlib import Path

import pytest

import npaccel
from npaccel._process import environment

PACKAGE = Path(npaccel.__file__).parent
PAGE = PACKAGE.parent / "docs/reference/environment.md"


def test_the_table_has_all_that_is_read():
    read = {
        name
        for path in PACKAGE.rglob("*.py")
        if path != Path(environment.__file__)
        for name in re.findall(r"\"(NPACCEL_[A-Z_]+)\"", path.read_text(encoding="utf-8"))
    }
    macro = "NPACCEL_HEADER"  # of C++
    assert read - {macro} == set(environment.VARIABLES)


def test_the_page_has_those_of_the_table():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(environment.VARIABLES)


@pytest.mark.parametrize(
    ("value", "off", "on"),
    [
        (None, False, False),
        ("", False, False),
        ("0", True, False),
        (" OFF ", True, False),
        ("no", True, False),
        ("false", True, False),
        ("1", False, True),
        ("yes", False, True),
    ],
)
def test_values(monkeypatch, value, off, on):
    monkeypatch.delenv("NPACCEL_DISABLE", raising=False)
    if value is not None:
        monkeypatch.setenv("NPACCEL_DISABLE", value)
    assert environment.is_off("NPACCEL_DISABLE") == off
    assert environment.is_on("NPACCEL_DISABLE") == on
