"""The page of results: the text about them, every table that has runs, and every run, from files alone."""

from stochlwta_tf.config import lookup, suites
from stochlwta_tf.evaluation import inner_steps
from stochlwta_tf.report import match, render, tables

_HEAD = """# Results

Made from the files in this folder by `python evaluate.py --page --runs {runs}`; do not edit. Each number is the mean over test tasks with
half of its 95 % interval (Student's t; in tables over seeds and tasks together), under the protocol that its heading names (see
`docs/protocols.md`); numbers of different protocols or batch statistics never share a table."""


def text(collected, runs):
    """The page as Markdown, and the notes of its tables.

    Args:
        collected: A `Collected`.
        runs: The folder of the runs, as it is given on the command line.

    Returns:
        Text, a tuple of lines.
    """
    blocks, notes, empty = [_HEAD.format(runs=runs), *_discussion(runs / "discussion.md")], [], []
    pictures = [path for path in sorted(runs.rglob("*.[ps][nv]g")) if path.name != "predictions.png"]  # every regression run has one
    shown = []
    for part in parts():
        shown.append([])
        for suite in part:
            table = tables.fill(suite, collected)
            notes += table.notes
            if any(table.filled):
                shown[-1] += _table(table, runs)
            else:
                empty.append(f"- {suite.title}: `{table.command}`")
    first, others = shown
    blocks += [*first, *(_picture(path.relative_to(runs).as_posix()) for path in pictures), *others, *_runs(collected)]
    if empty:
        blocks.append("## Tables without a run\n\n" + "\n".join(empty))
    return "\n\n".join(blocks) + "\n", tuple(dict.fromkeys(notes))


def parts():
    """The suites whose tables come first, and the paper's other tables."""
    shown = [suites.load(name) for name in lookup.suites()]
    first = sorted((suite for suite in shown if suite.page), key=lambda suite: suite.page)
    return first, [suite for suite in shown if not suite.page and suite.file.startswith("table")]


def _table(table, runs):
    """A table, and the command that names what fills its empty cells."""
    yield render.markdown(table, level=2, commands=False).rstrip("\n")
    if not all(table.filled):
        name = table.suite.file.removeprefix("table")
        yield f"What fills its empty cells: `python evaluate.py --table {name} --runs {runs}`."


def _discussion(path):
    """The hand-written text, if there is one."""
    return [path.read_text(encoding="utf-8").strip()] if path.exists() else []


def _picture(path):
    return f"`{path}`\n\n![{path}]({path})"


def _runs(collected):
    """Every run by its group; those of earlier versions, which drew their tasks in another way, apart."""
    present, earlier = ([result for result in collected.results if result.earlier == old] for old in (False, True))
    return [*_groups("## Every run", present), *_groups("## Runs of earlier versions", earlier)]


def _groups(heading, results):
    groups = {}
    for result in results:
        group = match.Group(result.evaluation.protocol, result.config.protocol, result.evaluation.batch_statistics)
        groups.setdefault(group, []).append(result)
    blocks = [heading] if groups else []
    for group in sorted(groups, key=lambda g: tuple(map(str, g))):
        blocks.append(f"### {group.title}\n\n" + render.pipes(_COLUMNS, [_row(result) for result in groups[group]]))
    return blocks


_COLUMNS = ["run", "measures", "draws, inner steps", "iterations", "seed", "tasks", "parameters", "made by"]


def _row(result):
    evaluation = result.evaluation
    unit = {"%": " %", "nats": " nats"}
    measures = [
        f"{name} {inner_steps.shown(m.model_dump(exclude_none=True))}{unit.get(m.unit, '')}" for name, m in evaluation.measures.items()
    ]
    if evaluation.noise_std is not None:  # NLL and coverage of two runs compare at one σ alone
        measures.append(f"σ {evaluation.noise_std:.2f}")
    where = result.folder if result.file == "evaluation.json" else f"{result.folder}, {result.file}"
    where += "".join(f" ({note.rstrip('.')})" for note in evaluation.data_notes)
    return [
        where,
        "; ".join(measures),
        f"{evaluation.draws}, {evaluation.inner_steps}",
        f"{evaluation.iterations:,}",
        str(evaluation.seed),
        str(evaluation.tasks),
        f"{evaluation.parameters.trainable:,}",
        f"`{result.command}`",
    ]
