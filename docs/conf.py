"""Sphinx configuration: pydata theme, numpydoc, MyST. Built with warnings as errors."""

import json
from pathlib import Path

from npaccel._scipy.dispatch import support_page as _scipy_support
from npaccel._sklearn.dispatch import support_page as _sklearn_support
from npaccel._tools import support_page
from npaccel._version import __version__

project = "npaccel"
author = "The npaccel developers"
copyright = "2026, The npaccel developers"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
# The pages are Markdown; what autosummary generates is reStructuredText.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings give types, shapes and dtypes
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "npaccel"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"install": [], "changelog": [], "contributing": []}

# What pages of docs/reference include: made from the tables, and from figures that were measured.
_reference = Path(__file__).parent / "reference"
_generated = _reference / "generated"
_generated.mkdir(exist_ok=True)
_figures = {
    name: json.loads((_reference / f"sklearn_{name}.json").read_text(encoding="utf-8"))
    for name in ("precision", "speeds")
}
_pages = {
    "support": support_page.page(),
    "scipy": _scipy_support.page(),
    "sklearn": _sklearn_support.page(_figures["speeds"]),
    "sklearn_precision": _sklearn_support.precision_page(_figures["precision"]),
}
for _name, _text in _pages.items():
    (_generated / f"{_name}.txt").write_text(_text, encoding="utf-8")
