"""Checks that an HTML page is whole and needs nothing but itself."""

import re
from html.parser import HTMLParser

_VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "source"}


class Page(HTMLParser):
    """A page's text, tags and identifiers; every tag must be closed in its order.

    Attributes:
        text: The text outside of styles and scripts, and its `pieces` between tags.
        tags: Pairs of a tag and its attributes.
    """

    def __init__(self, html):
        super().__init__()
        self._open, self._words, self.tags = [], [], []
        self.feed(html)
        self.close()
        assert not self._open
        self.pieces = [word.strip() for word in self._words]
        self.text = re.sub(r"\s+", " ", "".join(self._words))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, f"{tag} at {self.getpos()}"

    def handle_data(self, data):
        if not {"style", "script"} & {*self._open}:
            self._words.append(data)

    def check_alone(self):
        """Asserts that nothing is loaded from elsewhere, that references are to parts of the page, and that no two share a name."""
        names = [attrs["id"] for _, attrs in self.tags if "id" in attrs]
        assert len(names) == len(set(names))
        for tag, attrs in self.tags:
            for key in ("src", "href", "xlink:href", "data", "srcset", "poster"):
                if (value := attrs.get(key)) is not None and not (tag == "a" and key == "href"):
                    assert value.startswith("data:") or value[0] == "#" and value[1:] in names, (tag, key, value[:80])
            for name in re.findall(r"url\((.*?)\)", " ".join(value or "" for value in attrs.values())):
                assert name[0] == "#" and name[1:] in names, name
            assert not any(key.startswith("on") for key in attrs), (tag, attrs)
