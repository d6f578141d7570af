"""How the site is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference

import sframe_spark

project = "sframe_spark"
author = "the sframe_spark authors"
release = sframe_spark.__version__
html_title = "sframe_spark"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinxcontrib.mermaid",
]
exclude_patterns = ["site", "pictures"]
# Sphinx looks for some below the pages, for others beside this file.
templates_path = [str(Path(__file__).parent / "templates")]
html_static_path = ["static"]
html_css_files = ["site.css"]
# The pages link to each other as on GitHub, to sections too.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
myst_fence_as_directive = ["mermaid"]
# Links out of the manual (`../benchmarks/RESULTS.md`) go to the repository.
suppress_warnings = ["myst.header", "myst.xref_missing"]

autosummary_generate = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_custom_sections = ["Source"]
napoleon_use_rtype = False
copybutton_prompt_text = ">>> "
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_show_sourcelink = False
html_copy_source = False
copyright = "the sframe_spark authors, Apache License 2.0"


def setup(app: object) -> None:
    """Write the pages of the reference, which are made of the code."""
    reference.write(Path(__file__).parents[1] / "reference")
