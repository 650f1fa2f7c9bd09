"""How Sphinx builds the site; ``make docs`` writes ``reference/`` first."""

from importlib.metadata import version as version_of

project = "Longwave"
author = copyright = "The Longwave authors"
version = release = version_of("longwave")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Longwave {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
