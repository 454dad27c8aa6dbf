"""Sphinx's configuration of the site, which `python -m man.site` builds."""

import re
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
sys.path.insert(0, str(TOP))

from sphinx.application import Sphinx  # noqa: E402

from git_boocode import __version__  # noqa: E402

project = "git-boocode"
version = release = __version__
author = "The git-boocode developers"
copyright = author  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # what a session prints is in no language

default_role = "py:obj"  # `name` in a docstring
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
_ALIASES = ("Edits", "RestoreCallback")
autodoc_type_aliases = {name: f"git_boocode.api.{name}" for name in _ALIASES}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
add_module_names = False

html_theme = "furo"
html_title = f"git-boocode {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# The pages are searched from a file as well, where a browser reads no others.
html_show_search_summary = False


def _readable(*event: str | None) -> tuple[str, str | None] | None:
    """A signature that Sphinx can parse; otherwise it shows full names and its own types."""
    *_, signature, returned = event
    if signature is None:
        return None
    signature = re.sub(r"TypeAliasForwardRef\('(.*?)'\)", r"\1", signature)
    return signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _readable)
