"""The blocks of code in the documents."""

import re

from tests.helpers import REPOSITORY


def blocks(document, *languages):
    """The fenced blocks of a document in some languages, in their order: `[(language, code), …]`."""
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    found = re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, document
    return found
