"""How the site is built: ``make docs``."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import reference

import sframe_spark

ROOT = Path(__file__).parents[2]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "sframe_spark"
author = "the sframe_spark authors"
release = sframe_spark.__version__
html_title = "sframe_spark"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["site", "pictures"]
# Sphinx looks for some below the pages, for others beside this file.
templates_path = [str(Path(__file__).parent / "templates")]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", METADATA["urls"]["Documentation"].rstrip("/") + "/")
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_context = {"social_text": METADATA["description"], "html_baseurl": html_baseurl}
# The pages link to each other as on GitHub, to sections too.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
# Links out of the manual (`../benchmarks/RESULTS.md`) go to the repository.
suppress_warnings = ["myst.header", "myst.xref_missing"]

autosummary_generate = True
autosummary_context = {"typed": reference.TYPED}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
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
    "logo": {"text": f"sframe_spark {release}", "alt_text": "sframe_spark"},
    "icon_links": [{"name": "Repository", "url": METADATA["urls"]["Repository"], "icon": "fa-brands fa-github"}],
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    # Colours that the guidelines for accessible pages allow on these papers.
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_show_sourcelink = False
html_copy_source = False
copyright = "the sframe_spark authors, Apache License 2.0"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Where the repository has the lines of a member."""
    place = reference.lines_of(info["module"], info["fullname"]) if domain == "py" else None
    return place and f"{METADATA['urls']['Repository']}/blob/main/{place}"


def without_private_parameters(app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, result: str | None) -> Any:
    """A signature as people call it."""
    return (reference.public_signature(signature), result) if signature and "_" in signature and what in ("class", "function", "method") else None


# Lines of boxes as `print(sf)` draws them, and of plans: they mean nothing when they are folded.
BOXES = ("+--", "| --", "┌", "└", "+-")


def mark_printed(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Blocks that show printed tables keep their lines, and pictures that have a dark form show it on dark pages."""
    for block in tree.findall(nodes.literal_block):
        if any(line.lstrip().startswith(BOXES) for line in block.astext().splitlines()):
            block["classes"].append("printed")
    for image in tree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        dark = path.with_stem(f"{path.stem}-dark")
        if dark.exists() and "only-light" not in image["classes"] and "only-dark" not in image["classes"]:
            other = image.deepcopy()
            image["classes"].append("only-light")
            other["classes"].append("only-dark")
            other["uri"] = str(dark.relative_to(app.srcdir))
            other["candidates"] = {"*": other["uri"]}
            app.env.images.add_file(name, other["uri"])
            image.parent.insert(image.parent.index(image) + 1, other)


def setup(app: Sphinx) -> None:
    """Write the pages of the reference, which are made of the code."""
    app.connect("autodoc-process-signature", without_private_parameters)
    app.connect("doctree-resolved", mark_printed)
    reference.name_classes()
    reference.write(Path(__file__).parents[1] / "reference")
