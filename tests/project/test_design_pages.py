"""The pages on the design name files that there are, and each is reached from its index."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs/design"
PAGES = sorted(DESIGN.rglob("*.md"))
#: Where code lies that pages name.
FOLDERS = ("npaccel", "tests", "tools", "asv_benches", "examples")
FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


def name_of(page):
    return page.relative_to(DESIGN).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page):
    named = set(re.findall(r"`([\w/]+\.py)", page.read_text(encoding="utf-8")))
    known = [path.relative_to(ROOT).as_posix() for path in FILES]
    assert not [name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in known)]


@pytest.mark.parametrize("folder", [DESIGN, DESIGN / "findings"], ids=["design", "findings"])
def test_the_order_of_pages_is_written_down(folder):
    index = (folder / "index.md").read_text(encoding="utf-8")
    tree = re.search(r"```\{toctree\}\n(?::\w+:.*\n)*\n(.*?)```", index, re.DOTALL)[1].split()
    pages = {page.stem for page in folder.glob("*.md")} - {"index"}
    assert set(tree) - {"findings/index"} == pages
