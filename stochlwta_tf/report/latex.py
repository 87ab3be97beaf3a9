"""A table as LaTeX for a paper: booktabs, caption, label, the best in bold."""

import re

from stochlwta_tf.report import best, cell_text
from stochlwta_tf.report.tables import splits, title

# What a text may have that is special to LaTeX, or that its usual fonts lack.
_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$"},
    **{"–": "--", "—": "---", "…": r"\dots{}", "“": "``", "”": "''", "‘": "`", "’": "'", "\u00a0": "~", '"': "''"},
    **{"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "≤": r"$\le$", "≥": r"$\ge$", "→": r"$\to$", "∞": r"$\infty$"},
    **{letter: f"$\\{name}$" for letter, name in {"α": "alpha", "β": "beta", "η": "eta", "θ": "theta", "λ": "lambda"}.items()},
    **{letter: f"$\\{name}$" for letter, name in {"μ": "mu", "ξ": "xi", "ρ": "rho", "σ": "sigma", "τ": "tau", "ψ": "psi"}.items()},
}
_NARROW = 3  # columns of numbers that fit a column of text


def latex(table):
    """The table as LaTeX: a `table` for each group of results, with the paper's numbers in rows above ours.

    Rows and columns without a number are left out. Bold is what `best.best` finds among ours; the details of each number, with its
    command, are comments.

    Example:

    >>> print(latex(tables.fill(suites.load("table1"), collect.read("results"))))
    """
    needs = r"Needs \usepackage{booktabs, graphicx}: a table that is wider than the text is shrunk to its width."
    blocks = [comment(table.suite.title, needs, table.suite.note)]
    blocks += [_group(table, group, entries) for group, entries in table.groups]
    return "\n\n".join(blocks) + "\n"


def escape(text):
    """A text in which nothing is a command of LaTeX.

    Example:

    >>> escape("omniglot_20w1s, 5 %")
    'omniglot\\\\_20w1s, 5 \\\\%'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def comment(*texts):
    """Texts as comments, line by line."""
    return "\n".join(f"% {line}".rstrip() for text in texts for line in text.strip().splitlines())


def _group(table, group, entries):
    marked, every = best.best(entries), [column.label for column in table.suite.columns]
    labels = [label for label in every if any(entry.column == label and _has_number(entry) for entry in entries)]
    heads = [head for label, head in zip(every, cell_text.heads(table.suite), strict=True) if label in labels]
    quoted = {label: dict(zip(every, (_paper(n, None, "accuracy") for n in row))) for label, row in table.literature.items()}
    ours = {}
    for entry in entries:
        if entry.label in {filled.label for filled in entries if filled.ours is not None}:
            ours.setdefault(entry.label, {})[entry.column] = _ours(entry, (entry.label, entry.column) in marked.cells)
    parts = {"As the paper quotes them": quoted, "As the paper reports them": _reported(entries), "This work": ours}
    wide = "*" if len(labels) > _NARROW else ""
    lines = [rf"\begin{{table{wide}}}", r"  \centering", r"  \small"]
    lines += [rf"  \caption{{{_caption(table, group, entries, marked, dict(zip(labels, heads)))}}}", rf"  \label{{{_label(table, group)}}}"]
    lines += [r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
    lines += [rf"  \begin{{tabular}}{{l{'r' * len(labels)}}}", r"    \toprule", _row("", map(_head, heads))]
    for heading, rows in parts.items():
        if rows:
            lines += [r"    \midrule", rf"    \multicolumn{{{len(labels) + 1}}}{{l}}{{\emph{{{heading}}}}} \\"]
            lines += [_row(escape(label), [cells.get(column, "") for column in labels]) for label, cells in rows.items()]
    lines += [r"    \bottomrule", r"  \end{tabular}}", rf"\end{{table{wide}}}"]
    return "\n".join([*_details(entries), *lines])


def _row(label, cells):
    return "    " + " & ".join([label, *cells]) + r" \\"


def _head(words):
    """A head of a column, in lines of a word or two each where it is long."""
    lines = [escape(line) for line in re.findall(r"\S.{0,13}(?=\s|$)|\S+", words)]
    stacked = r" \\ ".join(lines)
    return stacked if len(lines) == 1 else rf"\begin{{tabular}}[b]{{@{{}}r@{{}}}}{stacked}\end{{tabular}}"


def _has_number(entry):
    return (entry.ours, entry.paper) != (None, None)


def _reported(entries):
    """Rows of the paper's numbers; a method's variants share one where they are compared with the same numbers."""
    found = {}
    for entry in entries:
        if entry.paper is not None:
            cell = _paper(entry.paper, entry.paper_std, entry.measure)
            found.setdefault(entry.row, {}).setdefault(entry.label, {})[entry.column] = cell
    rows = {}
    for row, variants in found.items():
        together = {column: number for cells in variants.values() for column, number in cells.items()}
        rows |= {row: together} if all(cells.items() <= together.items() for cells in variants.values()) else variants
    return rows


def _paper(number, std, measure):
    if number is None:
        return ""
    text = cell_text.number(number, measure).replace(",", "{,}")
    return f"${text}$" if std is None else f"${text}\\;({std:.2f})$"


def _ours(entry, bold):
    if entry.ours is None:
        return "--"
    value = cell_text.number(entry.ours, entry.measure).replace("−", "-").replace(",", "{,}")
    if entry.diverged:
        return f"${value}^{{\\dagger}}$"
    if entry.low is not None:
        low, high = (cell_text.number(end, entry.measure) for end in (entry.low, entry.high))
        half = cell_text.number((entry.high - entry.low) / 2, entry.measure)
        value += f"\\;[{low}, {high}]" if entry.unit == "ms" else f" \\pm {half}"
    return rf"$\mathbf{{{value}}}$" if bold else f"${value}$"


def _caption(table, group, entries, marked, heads):
    """What the table is of, and how to read it: only what it has."""
    filled = [entry for entry in entries if entry.ours is not None]
    said = [table.suite.title.partition(": ")[2] or table.suite.title, title(group, table.suite), *splits(group, entries)]
    if any(entry.low is not None and entry.unit != "ms" for entry in filled):
        said.append("Ours are means with half of their 95 % interval over seeds and test tasks (Student's t)")
    if any(entry.unit == "ms" for entry in filled):
        said.append("Times are medians with their quartiles")
    if lengths := sorted({entry.iterations for entry in filled if entry.iterations}):
        said.append(f"Trained for {' to '.join(f'{n:,}' for n in dict.fromkeys((lengths[0], lengths[-1])))} meta-iterations")
    if any(entry.paper_std is not None for entry in entries):
        said.append("The paper's numbers have their standard deviation over seeds in brackets")
    if marked.cells:
        said.append(f"Bold: {best.RULE}")
    if marked.withheld:
        said.append(f"None is bold among those trained or tested otherwise than each other: {'; '.join(map(heads.get, marked.withheld))}")
    sentences = [sentence.replace("`", "").strip().rstrip(".") for sentence in said]
    text = " ".join(f"{escape(sentence[0].upper() + sentence[1:])}." for sentence in sentences)
    return text + (r" $\dagger$: median over all tasks, some of which diverged." if any(entry.diverged for entry in filled) else "")


def _label(table, group):
    words = [table.suite.file, *(value for value in group or () if value)]
    return "tab:" + re.sub(r"[^A-Za-z0-9]+", "-", "-".join(dict.fromkeys(words)))


def _details(entries):
    for entry in entries:
        if entry.ours is not None:
            seeds = f"seeds {', '.join(map(str, entry.seeds))}; " if entry.seeds else ""
            length = f"{entry.iterations:,} iterations; {entry.tasks} test tasks; " if entry.iterations else ""
            yield comment(f"{entry.label}, {entry.column}: {seeds}{length}{entry.made_by}")
