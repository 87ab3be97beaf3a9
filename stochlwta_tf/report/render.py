"""A table as Markdown or CSV, and all formats of tables."""

import csv
import io

from stochlwta_tf.report import cell_text
from stochlwta_tf.report.latex import latex
from stochlwta_tf.report.tables import splits, title

LEGEND = (
    "A cell has ours, the paper's and the difference; – is missing. ± is half of the 95 % interval over seeds and test tasks together "
    "(Student's t; of one seed, over its test tasks alone), σ a standard deviation over seeds; where tasks diverged, ours is the median "
    "over all tasks (mean of the seeds' medians) and has no difference; times are medians with their quartiles. A difference on the same "
    "tasks is the mean over tasks of the difference from another row on one task, with half of its 95 % interval."
)


def markdown(table, level=1, commands=True):
    """The table as Markdown, each group of results with its details and with the commands that fill missing cells.

    Args:
        table: A `Table`.
        level: Of its heading.
        commands: Whether to list the commands that fill the empty cells.
    """
    blocks = [f"{'#' * level} {table.suite.title}", LEGEND]
    if table.suite.note:
        blocks.append(table.suite.note.strip())
    for group, entries in table.groups:
        blocks.append(f"{'#' * (level + 1)} {title(group, table.suite)}")
        blocks.extend(splits(group, entries))
        blocks.append(pipes(*_grid(table, entries)))
        filled = [entry for entry in entries if entry.ours is not None]
        if filled:
            blocks.append(pipes(*_details(filled)))
        blocks.extend(missing(entries) if commands else ())
    return "\n\n".join(blocks) + "\n"


def comma_separated(table):
    """The table as CSV, one line per cell, with all its details."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("row", "variant", "column", "measure", "unit", "ours", "low", "high", "diverged", "seed_std", "seeds", "iterations", "tasks")
    columns += ("compared_with", "paired", "paired_ci95")
    columns += ("batch", "device", "paper", "paper_std", "difference", "made_by", "fill_by", "lacking", "unknown")
    writer.writerow(["table", "protocol", "trained_under", "batch_statistics", *columns])
    for label, numbers in table.literature.items():
        for column, number in zip(table.suite.columns, numbers, strict=True):
            if number is not None:
                known = {"row": label, "variant": "literature", "column": column.label, "measure": table.suite.measure, "paper": number}
                writer.writerow([table.suite.file, "", "", "", *(known.get(name, "") for name in columns)])
    for group, entries in table.groups:
        for entry in entries:
            row = [_plain(getattr(entry, name)) for name in columns]
            writer.writerow([table.suite.file, *map(_plain, group or (None, None, None)), *row])
    return text.getvalue()


FORMATS = {"markdown": markdown, "csv": comma_separated, "latex": latex}


def _plain(value):
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _grid(table, entries):
    """Head and rows of strings, laid out as in the paper."""
    cells = {(entry.label, entry.column): _cell(entry) for entry in entries}
    labels = list(dict.fromkeys(entry.label for entry in entries))
    columns = [column.label for column in table.suite.columns]
    rows = [[f"{label}, as quoted there", *map(_quoted, numbers)] for label, numbers in table.literature.items()]
    rows += [[label, *(cells.get((label, column), "") for column in columns)] for label in labels]
    return ["ours / paper / difference", *columns], rows


def _quoted(number):
    return "" if number is None else f"– / {number:.2f}"


def _cell(entry):
    parts = ["–" if entry.ours is None else cell_text.ours(entry)]
    if entry.paper is not None:
        parts.append(cell_text.number(entry.paper, entry.measure) + (f" (σ {entry.paper_std:.2f})" if entry.paper_std is not None else ""))
    if entry.difference is not None:
        parts.append(cell_text.signed(entry.difference, entry.measure))
    return " / ".join(parts)


def _details(entries):
    """Head and rows of strings: one row per filled cell, with its details."""
    seeded, compared = (any(getattr(entry, key) is not None for entry in entries) for key in ("seed_std", "paired"))
    head = ["cell", "ours", *(["std over seeds"] if seeded else []), *(["on the same tasks"] if compared else [])]
    head += ["seeds", "iterations", "tasks", "paper", "difference", "made by"]
    rows = []
    for entry in entries:
        std = [cell_text.number(entry.seed_std, entry.measure) if entry.seed_std is not None else ""] if seeded else []
        paper = "" if entry.paper is None else cell_text.number(entry.paper, entry.measure)
        difference = "" if entry.difference is None else cell_text.signed(entry.difference, entry.measure)
        iterations = "" if entry.iterations is None else f"{entry.iterations:,}"
        made_by = f"`{entry.made_by}`" + (f" on {entry.device}" if entry.unit == "ms" else "")
        seeds = ", ".join(map(str, entry.seeds))
        unit = {"": "", "%": " %"}.get(entry.unit, f" {entry.unit}")
        std += [cell_text.paired(entry) or ""] if compared else []
        ours = [f"{entry.label}, {entry.column}", cell_text.ours(entry) + unit, *std, seeds, iterations, str(entry.tasks or "")]
        rows.append([*ours, paper, difference, made_by])
    return head, rows


def missing(entries):
    """Blocks that list what fills the empty cells."""
    commands = {}
    for entry in entries:
        if entry.fill_by:
            commands.setdefault(entry.fill_by, []).append(f"{entry.label}, {entry.column}")
    lines = [f"- {'; '.join(cells)}: `{command}`" for command, cells in commands.items()]
    blocks = ["Missing, with the command that fills each:\n\n" + "\n".join(lines)] if lines else []
    lacking = [f"- {entry.label}, {entry.column}: {', '.join(entry.lacking)}" for entry in entries if entry.lacking]
    if lacking:
        blocks.append("Missing, because a test of these runs diverged there or did not measure it:\n\n" + "\n".join(lacking))
    unknown = list(dict.fromkeys(entry.unknown for entry in entries if entry.unknown))
    if unknown:
        blocks.append(f"Missing, without a configuration in this version: {', '.join(f'`{name}`' for name in unknown)}.")
    return blocks


def pipes(head, rows):
    """A Markdown table; its first column left-aligned, the others right-aligned."""
    table = [[cell.replace("|", r"\|") for cell in row] for row in (head, *rows)]
    left = [i == 0 or name == "made by" for i, name in enumerate(head)]
    widths = [3 if name == "made by" else max(len(row[i]) for row in table) for i, name in enumerate(head)]
    lines = [" | ".join(c.ljust(w) if start else c.rjust(w) for c, w, start in zip(row, widths, left)) for row in table]
    rule = "|".join("-" * (w + 2) if start else "-" * (w + 1) + ":" for w, start in zip(widths, left))
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])
