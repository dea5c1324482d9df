"""Sphinx configuration: pydata theme, numpydoc, MyST. Built with warnings as errors."""

import json
import os
from pathlib import Path

import torch

from npaccel._scipy.dispatch import support_page as _scipy_support
from npaccel._sklearn.dispatch import support_page as _sklearn_support
from npaccel._tools import support_page
from npaccel._version import __version__

project = "npaccel"
author = "The npaccel developers"
copyright = "2026, The npaccel developers"
release = version = __version__

os.environ.setdefault("MPLBACKEND", "Agg")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
# The pages are Markdown; what autosummary generates is reStructuredText.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings give types, shapes and dtypes
numpydoc_show_class_members = False

copybutton_exclude = ".linenos, .gp"

# The examples run on one thread, so that their times don't go by what else the machine does.
torch.set_num_threads(1)
# They are run, unless NPACCEL_DOCS_GALLERY=0 asks for their texts alone.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "plot_gallery": os.environ.get("NPACCEL_DOCS_GALLERY", "1") != "0",
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "download_all_examples": False,
    "thumbnail_size": (400, 280),
    "image_scrapers": ("matplotlib",),
}

_examples = (Path(__file__).parent.parent / "examples/gallery").glob("plot_*.py")

html_theme = "pydata_sphinx_theme"
html_title = "npaccel"
html_static_path = ["_static"]
html_css_files = ["npaccel.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "navigation_depth": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_nav_level": 2,
    "show_toc_level": 2,
    "show_prev_next": True,
    # Examples are short, and their lines long.
    "secondary_sidebar_items": {
        "**": ["page-toc", "sourcelink"],
        **{f"gallery/{path.stem}": [] for path in _examples},
    },
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
# Pages with nothing beside them have no side bar.
html_sidebars = {"index": [], "install": [], "search": []}

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
