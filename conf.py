"""The documentation site: `pip install -e '.[docs]'`, then `sphinx-build -W . build/site`.  It needs no network.

The source of the site is the repository itself, so that relative links between its documents work in both.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "docs" / "site")]

project, author = "StochLWTA-TF", "The StochLWTA-TF authors"
html_title = "StochLWTA-TF"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "google_markdown", "front_page"]

root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "docs/**", "models/README.md", "results/README.md", "examples/README.md"]
exclude_patterns = ["docs/site", "**/.*"]
html_theme = "furo"
html_theme_options = {"footer_icons": []}
html_copy_source = False
html_static_path = ["docs/site/style.css"]
html_css_files = ["style.css"]
templates_path = ["docs/site"]
html_additional_pages = {"index": "index.html"}
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_heading_anchors = 3

autodoc_typehints = "none"  # the options' bounds, as Annotated, would hide their names
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
default_role = "py:obj"  # `MAML` is a link where there is such an object
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = ["Input shape", "Output shape"]
