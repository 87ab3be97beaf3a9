"""The page of all results as HTML: sortable tables with their details folded, and our numbers beside the paper's as dots."""

import functools
import itertools

from stochlwta_tf.figures import dots
from stochlwta_tf.measures import MEASURES, measure_of
from stochlwta_tf.report import best, cell_text, html, match, page, result_row, tables


def text(collected, runs):
    """The page as HTML, and the notes of its tables.

    Args:
        collected: A `Collected`.
        runs: The folder of the runs.

    Returns:
        Text, a tuple of lines.

    Example:

        text(collect.read("results"), Path("results"))[0]  # "<!doctype html>…"
    """
    shown, notes, empty = [], [], []
    for suite in itertools.chain(*page.parts()):
        table = tables.fill(suite, collected)
        notes += table.notes
        if any(table.filled):
            shown.append(_table(table))
        else:
            empty.append((suite.title, table.command))
    discussion = runs / "discussion.md"
    present, earlier = ([result for result in collected.results if result.earlier == old] for old in (False, True))
    pictures = [path for path in sorted(runs.rglob("*.[ps][nv]g")) if path.parent not in {r.path for r in collected.results}]
    values = {
        "runs": str(runs),
        "counts": (len(collected.results), len({result.path for result in collected.results})),
        "discussion": html.markdown(discussion.read_text(encoding="utf-8"), runs) if discussion.is_file() else None,
        "tables": shown,
        "rule": best.RULE,
        "empty": empty,
        "pictures": [(path.stem, source) for path in pictures if (source := html.embedded(path))],
        "present": _groups(present, runs),
        "earlier": _groups(earlier, runs),
    }
    return html.render("results.html", **values), tuple(dict.fromkeys(notes))


def _table(table):
    groups, heads = [], cell_text.heads(table.suite)
    for group, entries in table.groups:
        marked, labels = best.best(entries), list(dict.fromkeys(entry.label for entry in entries))
        cells = {(entry.label, entry.column): _cell(entry, (entry.label, entry.column) in marked.cells) for entry in entries}
        columns = [column.label for column in table.suite.columns]
        groups.append(
            {
                "title": tables.title(group, table.suite),
                "remarks": [remark.replace("`", "") for remark in tables.splits(group, entries)],
                "rows": [(label, [cells.get((label, column)) for column in columns]) for label in labels],
                "withheld": bool(marked.withheld),
                "figures": _dots(table, entries, heads),
                "missing": _missing(entries),
            }
        )
    quoted = [(label, [n and f"{n:.2f}" for n in row]) for label, row in table.literature.items()]
    suite = table.suite
    return {
        "id": suite.file,
        "title": suite.title,
        "note": suite.note.strip(),
        "heads": heads,
        "groups": groups,
        "quoted": quoted,
    }


def _cell(entry, marked):
    details = []
    if entry.seeds:
        details.append(("seeds", ", ".join(map(str, entry.seeds))))
    details += [("σ over seeds", cell_text.number(entry.seed_std, entry.measure))] if entry.seed_std is not None else []
    details += [("on the same tasks", difference)] if (difference := cell_text.paired(entry)) else []
    details += [("test tasks", f"{entry.tasks:,}")] if entry.tasks else []
    details += [("processor time of training", result_row.duration(entry.core_seconds))] if entry.core_seconds else []
    details += [("device", entry.device)] if entry.device else []
    return {
        "ours": None if entry.ours is None else cell_text.ours(entry),
        "value": entry.ours,
        "best": marked,
        "iterations": entry.iterations,
        "paper": None if entry.paper is None else cell_text.number(entry.paper, entry.measure),
        "paper_std": entry.paper_std,
        "difference": None if entry.difference is None else cell_text.signed(entry.difference, entry.measure),
        "details": details,
        "command": entry.made_by,
        "lacking": ", ".join(entry.lacking),
    }


def _missing(entries):
    """The commands that fill empty cells, each with the cells."""
    commands = {}
    for entry in entries:
        if entry.fill_by:
            commands.setdefault(entry.fill_by, []).append(f"{entry.label}, {entry.column}")
    return [("; ".join(cells), command) for command, cells in commands.items()]


def _dots(table, entries, heads):
    """A picture for each column of accuracies or errors that has a number of ours."""
    found = []
    for column, head in zip(table.suite.columns, heads, strict=True):
        measure = column.measure or table.suite.measure
        own = [e for e in entries if e.column == column.label and (e.ours, e.paper) != (None, None)]
        if measure not in ("accuracy", "mse") or all(e.ours is None for e in own):
            continue
        rows = [
            {"label": e.label, "method": e.row, "paper": e.paper, "paper_std": e.paper_std, "ours": e.ours, "low": e.low, "high": e.high}
            for e in own
        ]
        label = measure_of(measure).axis
        draw = functools.partial(dots.draw, rows=rows, title=head, xlabel=label, log=measure == "mse")
        found.append(html.figure(draw, f"{head}: {label}, ours and the paper's"))
    return found


def _groups(results, runs):
    """Tables of tests: a table for each protocol, kind of batch statistics and kind of measure."""
    groups = {}
    for result in results:
        of = match.Group(result.evaluation.protocol, result.config.protocol, result.evaluation.batch_statistics)
        groups.setdefault((of, next(iter(result.evaluation.measures))), []).append(result)
    found = []
    for group, main in sorted(groups, key=lambda key: tuple(map(str, (*key[0], key[1])))):
        tests = groups[group, main]
        names = result_row.measures_of(tests)
        rows = [{**result_row.row(test, names), "report": _report(test, runs)} for test in tests]
        heads = [MEASURES[name].axis if name in MEASURES else name for name in names]
        found.append({"title": group.title, "heads": heads, "rows": rows})
    return found


def _report(result, runs):
    """The address of the run's own page, if it has one, from that of all results."""
    page = result.path / "report.html"
    return page.relative_to(runs).as_posix() if page.is_file() else None
