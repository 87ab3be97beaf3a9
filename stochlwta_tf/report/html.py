"""Self-contained HTML: the package's templates, with every picture inside the page."""

import base64
import functools
import io
import itertools
import re

import matplotlib

import stochlwta_tf

# matplotlib's colours as the page's, which follow the reader's choice of light or dark; the second of a pair is for dark pages.
_COLOURS = {
    "#444444": "currentColor",
    "#1b1b1b": "currentColor",
    "#000000": "currentColor",
    "#e6e6e6": "var(--line)",
    "#ffffff": "var(--panel)",
    **{colour: f"var(--series-{colour[1:]}, {colour})" for colour in ("#0072b2", "#2a6fbb", "#8c510a", "#555555", "#d55e00", "#009e73")},
}
_STYLE = {"svg.fonttype": "none", "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none"}
_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}


def render(template, **values):
    """A page, from a template of this package; every text among the values is escaped.

    Args:
        template: Its file's name.
        **values: What it refers to.
    """
    page = _templates().get_template(template).render(version=stochlwta_tf.__version__, **values)
    numbers = itertools.count(1)
    return re.sub(r"<svg .*?</svg>", lambda svg: _renamed(svg[0], f"picture{next(numbers)}-"), page, flags=re.S)


def _renamed(svg, prefix):
    """An SVG element with a prefix before the names of its parts, which two pictures of one page, even equal ones, must not share."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\1{prefix}", svg)


@functools.cache
def _templates():
    import jinja2  # here: the other commands do without it

    loader = jinja2.PackageLoader("stochlwta_tf.report")
    found = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters["breakable"] = _breakable
    return found


def _breakable(name):
    """A name, escaped, that may be broken after each part of it."""
    import markupsafe

    return markupsafe.Markup(re.sub(r"([/_-])(?=\w)", r"\1<wbr>", str(markupsafe.escape(name))))


def figure(draw, label):
    """An SVG element, whose text is text and whose colours are the page's.

    Args:
        draw: Function of a file and its format that draws with `figures.style`.
        label: What the picture shows, for those who do not see it.

    Example:

        figure(functools.partial(reliability.draw, result=result), "reliability diagram")
    """
    import markupsafe

    with matplotlib.rc_context(_STYLE), io.BytesIO() as file:
        draw(file, "svg")
        text = file.getvalue().decode()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.S)
    width = re.search(r'<svg[^>]* width="([\d.]+)pt"', text)[1]
    box = re.search(r'viewBox="[^"]*"', text)[0]
    for colour, own in _COLOURS.items():
        text = text.replace(colour, own)
    text = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 var(--sans)", text)
    head = f'<svg {box} role="img" aria-label="{markupsafe.escape(label)}" style="max-width:{1.4 * float(width):.0f}pt">'
    return markupsafe.Markup(head + text[text.index(">") + 1 :].strip())


def embedded(path):
    """A picture's file as an address that holds it, or None if it is no picture.

    Args:
        path: The file.
    """
    kind = _TYPES.get(path.suffix.lower())
    return kind and f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def markdown(text, folder):
    """Markdown as HTML, without HTML of its own; pictures are embedded, or left out where they are not under the folder.

    Args:
        text: The Markdown.
        folder: What the addresses of its pictures are relative to.
    """
    import markupsafe
    from markdown_it import MarkdownIt

    def picture(tokens, index, options, environment):
        token = tokens[index]
        path = folder / str(token.attrs.get("src", ""))
        inside = path.is_file() and path.resolve().is_relative_to(folder.resolve())
        source = embedded(path) if inside else None
        return f'<img src="{source}" alt="{markupsafe.escape(token.content)}">' if source else str(markupsafe.escape(token.content))

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.renderer.rules["image"] = picture
    return markupsafe.Markup(parser.render(text))
