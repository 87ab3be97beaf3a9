"""The common style of all figures."""

import contextlib

import matplotlib
import matplotlib.ticker
from matplotlib.figure import Figure

INK, GRID, BLUE = "#444444", "#e6e6e6", "#2a6fbb"
# Each method's colour in every picture: Okabe & Ito's, which are distinguishable with colour blindness, with a brown in place of yellow.
METHODS = {
    "StochLWTA-ML": "#0072b2",
    "MAML": "#d55e00",
    "FOMAML": "#e69f00",
    "Reptile": "#009e73",
    "ABML": "#cc79a7",
    "BMAML": "#56b4e9",
    "PLATIPUS": "#8c510a",
}
OTHER = "#555555"


def colour(method):
    """The colour of a method, by its name in the papers."""
    return METHODS.get(method, OTHER)


@contextlib.contextmanager
def figure(path, form, columns, rows=1, width=5.4, height=3.6, **subplots):
    """A figure and its panels, saved at the end; the same content gives the same bytes.

    Args:
        path: The file to write.
        form: `"png"` or `"svg"`.
        columns, rows: Of panels.
        width, height: Of a panel, in inches.
        **subplots: Arguments of matplotlib's `Figure.subplots`.
    """
    style = {"font.size": 9, "font.family": "sans-serif", "axes.edgecolor": INK, "text.color": INK, "svg.hashsalt": "stochlwta_tf"}
    with matplotlib.rc_context(style):
        drawn = Figure(figsize=(width * columns, height * rows), dpi=160, layout="constrained")
        panels = drawn.subplots(rows, columns, squeeze=False, **subplots)
        yield drawn, panels
        for axes in panels.flat:
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=INK, length=3)
        drawn.savefig(path, format=form, metadata={"Date": None} if form == "svg" else {})


def grid(axes, axis="both"):
    axes.grid(axis=axis, color=GRID, linewidth=0.6)


def title(axes, text):
    axes.set_title(text, fontsize=9, loc="left")


def heading(drawn, text):
    drawn.suptitle(text, fontsize=10, x=0.01, ha="left")


def logarithmic(axis):
    """Makes an axis logarithmic, with plain numbers at 1, 2 and 5 times the powers of ten."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
