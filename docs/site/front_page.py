"""The README is the front page.  The menu, which Sphinx wants in its text, is added as it is read, so that the file stays as it is."""

from pathlib import Path

import yaml

_MENU = Path(__file__).with_name("menu.yaml")


def setup(app):
    app.connect("source-read", add_menu)
    return {"parallel_read_safe": True}


def add_menu(app, name, source):
    """Appends the menu to the front page's source."""
    if name == app.config.root_doc:
        for caption, documents in yaml.safe_load(_MENU.read_text(encoding="utf-8")).items():
            entries = "\n".join(f"/{document}" for document in documents)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"
