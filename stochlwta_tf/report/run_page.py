"""The page of one run, from the files in its folder: result, training, pictures, configuration, environment."""

import functools
import json
from pathlib import Path

from stochlwta_tf.figures import histogram, reliability, series, style, titles, winners
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.report import cell_text, collect, html, result_files, result_row
from stochlwta_tf.training.records import read as read_rows

_DRAWN = {"reliability": (reliability.draw, result_files.ReliabilityFile), "winners": (winners.draw, result_files.WinnersFile)}
_OF = {"predictions": "Predictions", "reliability": "Reliability", "winners": "Winners of the competing units"}
_TEXT = {
    "predictions": "On the first test tasks: the truth, the support points, the sampled predictors, their mean and the 90 % band.",
    "reliability": "Accuracy by confidence, in the bins of the expected calibration error; below, how many queries each bin has. The "
    "error in the figure is of the tasks that it names, the one in the table of all test tasks.",
    "winners": "How often each competing unit wins: for the classes of the first test task, and over all tasks.",
}


def text(path, drawn=None, remarks=()):
    """The page as HTML, and a line for each file of the folder that cannot be used.

    Args:
        path: The run's folder.
        drawn: Pictures that its files lack, by name (`"predictions"`, `"reliability"`, `"winners"`), as SVG elements.
        remarks: Lines for the reader on pictures that could not be made.

    Returns:
        Text, a tuple of lines.

    Raises:
        ConfigurationError: It is no run, or its `config.yaml` is invalid.

    Example:

    >>> text("results/runs/sinusoid_default-seed0")[0][:15]
    '<!doctype html>'
    """
    path = Path(path)
    config, results, problems = collect.read_run(path)
    resolved = config.resolved()
    own = next((result for result in results if result.file == "evaluation.json"), results[0] if results else None)
    rows = read_rows(path / "metrics.csv")
    changed, defaults = settings(config)
    training = (own.evaluation.training if own else {}) or {key: float(rows[-1][key]) for key in ("seconds",) if rows and rows[-1].get(key)}
    names = result_row.measures_of(results)
    values = {
        "title": f"{titles.method(config.learner.name)}, {titles.task(resolved['task'])}",
        "name": config.name,
        "protocol": own.evaluation.protocol if own else config.protocol,
        "seed": config.seed,
        "iterations": (int(rows[-1]["iteration"]) if rows else 0, config.training.iterations),
        "measures": _measures(own) if own else [],
        "meanings": _meanings(names) if own else [],
        "tasks": own and own.evaluation.tasks,
        "command": own and own.command,
        "facts": _facts(config, own, training),
        "tests": [result_row.row(result, names) for result in results] if len(results) > 1 else [],
        "test_heads": [MEASURES[name].axis if name in MEASURES else name for name in names],
        "steps": _steps(own) if own else None,
        "curves": _curves(rows, config, own),
        "pictures": [*_pictures(path, resolved, drawn or {}, problems), *_others(path)],
        "remarks": remarks,
        "settings": {"changed": changed, "defaults": defaults},
        "starts": _starts(path / "environment.json", problems),
        "splits": _splits(path / "data.json", problems),
    }
    return html.render("run.html", **values), tuple(problems)


def settings(config):
    """The keys of a configuration with their values: those that differ from their defaults or have none, and the others.

    Returns:
        Two dictionaries from a section to its `(key, value, default)`, all as text; the default is None where there is none.

    Example:

    >>> settings(configuration.load("configs/sinusoid_default.yaml"))[1]["training"][0]
    ('max_to_keep', '2', '2')
    """
    changed, defaults = {}, {}
    for section, values in config.resolved().items():
        model, name = (getattr(config, section), section) if isinstance(values, dict) else (config, "run")
        for key, value in values.items() if isinstance(values, dict) else [(section, values)]:
            field = type(model).model_fields["modules" if key == "import" else key]
            default = None if field.is_required() else _plain(field.default)
            same = not field.is_required() and getattr(model, "modules" if key == "import" else key) == field.default
            (defaults if same else changed).setdefault(name, []).append((key, _plain(value), default))
    return changed, defaults


def _plain(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _measures(result):
    rows = []
    for name, measure in result.evaluation.measures.items():
        known = MEASURES.get(name)
        median = None if measure.median is None or known is None else cell_text.number(measure.median, name)
        label = known.label if known else name
        value = cell_text.of_test(name, measure) if known else f"{measure.value:.4g} ± {measure.ci95:.2g}"
        paper = result_row.beside(name, result) if known else None
        rows.append({"label": label, "value": value, "unit": measure.unit, "median": median, "paper": paper})
    return rows


def _meanings(names):
    """What these measures, and some of the facts, are: pairs of a term and its text."""
    known = [MEASURES[name] for name in names if name in MEASURES]
    return [
        *((measure.label, measure.meaning) for measure in known if measure.meaning),
        ("median", "over the test tasks, of which a diverged one counts as the worst"),
        ("confidence", "the largest probability of a prediction"),
        ("draws B", "sampled networks that a prediction averages"),
        ("inner steps", "gradient steps on the support set in the test"),
        ("parameters", "trainable ones are meta-learned; stored ones include what is sampled or adapted beside them"),
        ("gradient norm", "length of the meta-gradient, of each record of training"),
    ]


def _facts(config, result, training):
    """How the result was obtained, as pairs of a term and its text."""
    iterations = result.evaluation.iterations if result else config.training.iterations  # which early stopping may cut
    found = [
        ("meta-iterations", f"{iterations:,} of {config.training.meta_batch_size:,} tasks each"),
        ("seed", config.seed),
    ]
    if result is None:
        return [*found, *([("training", time)] if (time := result_row.cost(training)) else [])]
    evaluation = result.evaluation
    found.append(("test tasks", f"{evaluation.tasks:,}, of seed {result.tested.evaluation.seed}"))
    if evaluation.batch_statistics:
        found.append(("batch statistics", evaluation.batch_statistics))
    if classes := evaluation.classes.get("test"):
        found.append(("test classes", f"{classes:,}, of which {evaluation.classes.get('also_trained_on', 0):,} were trained on"))
    if "best_iteration" in training:
        found.append(("weights tested", f"of the best validation, at meta-iteration {training['best_iteration']:,.0f}"))
    rest = [pair for pair in result_row.details(result) if pair[0] != "training" and not pair[0].startswith("the paper")]
    return [*found, *([("training", time)] if (time := result_row.cost(training)) else []), *rest]


def _steps(result):
    """The measures by the number of inner steps at test: a table's head and rows, and a curve of the first measure; None if not tested."""
    tests = {int(steps): measures for steps, measures in result.evaluation.after_steps.items() if steps.isdecimal()}
    names = [name for name in MEASURES if any(name in measures for measures in tests.values())]
    if not names:
        return None
    main = names[0] if next(iter(result.evaluation.measures)) not in names else next(iter(result.evaluation.measures))
    points = sorted((steps, measures[main]) for steps, measures in tests.items() if main in measures)
    line = {"label": main, "x": [x for x, _ in points], "y": [m.value for _, m in points], "points": True}
    line |= {"low": [m.value - m.ci95 for _, m in points], "high": [m.value + m.ci95 for _, m in points], "colour": _colour(result.config)}
    draw = functools.partial(series.draw, lines=[line], xlabel="inner steps at test", ylabel=MEASURES[main].axis)
    rows = [
        (str(steps), [cell_text.of_test(name, tests[steps][name]) if name in tests[steps] else "–" for name in names])
        for steps in sorted(tests)
    ]
    return {
        "head": [MEASURES[name].axis for name in names],
        "rows": rows,
        "figure": html.figure(draw, f"{MEASURES[main].label} by inner steps"),
    }


def _colour(config):
    return style.colour(titles.method(config.learner.name))


def _curves(rows, config, result):
    """Pictures of what `metrics.csv` records: the score of training and validation, the losses, and what else changes."""
    columns = [name for name in (rows[0] if rows else {}) if name not in ("iteration", "seconds", "core_seconds", "val_diverged")]
    score = next((name for name in ("accuracy", "mse") if any(column.endswith(f"_{name}") for column in columns)), None)
    groups = {}
    for column in columns:
        kind = score if score and column.endswith(f"_{score}") else column
        groups.setdefault(kind, []).append(column)
    found = []
    for kind in sorted(groups, key=lambda kind: (kind != score, "loss" not in kind)):
        scale = 100 if kind == "accuracy" else 1
        lines = [line for column in groups[kind] if (line := _line(rows, column, scale, _colour(config)))]
        if not lines or kind not in (score, "loss") and len({y for line in lines for y in line["y"]}) < 2:
            continue  # what is constant is in the configuration
        log = kind == "mse" and all(y > 0 for line in lines for y in line["y"])
        label = MEASURES[kind].axis if kind in MEASURES else kind.replace("val_", "validation ").replace("_mib", ", MiB").replace("_", " ")
        level = _level(result, kind) if kind == score else None
        draw = functools.partial(series.draw, lines=lines, xlabel="meta-iterations", ylabel=label, log=log, level=level)
        found.append(html.figure(draw, f"{label} by meta-iteration"))
    values = result.evaluation.per_task.get(score) if result and score else None
    if values and len(known := [value for value in values if value is not None]) > 1:
        mean = sum(known) / len(known)
        draw = functools.partial(histogram.draw, values=known, mean=mean, colour=_colour(config), xlabel=MEASURES[score].axis)
        found.append(html.figure(draw, f"{MEASURES[score].label} of each test task"))
    return found


def _line(rows, column, scale, colour):
    points = [(int(row["iteration"]), scale * float(row[column])) for row in rows if row.get(column)]
    points = [(x, y) for x, y in points if abs(y) < float("inf")]  # neither infinite nor NaN
    if not points:
        return None
    validation = column.startswith("val_")
    label = "validation" if validation else column.rpartition("_")[0].replace("_", " ") or "training"
    shade = style.INK if validation else colour
    return {"label": label, "x": [x for x, _ in points], "y": [y for _, y in points], "colour": shade, "points": validation}


def _level(result, name):
    measure = result and result.evaluation.measures.get(name)
    if not measure or measure.diverged:
        return None
    return {"label": "test", "value": measure.value, "low": measure.value - measure.ci95, "high": measure.value + measure.ci95}


def _pictures(path, resolved, drawn, problems):
    """Predictions, reliability and winners, from the folder's files or else as they were drawn."""
    for name, title in _OF.items():
        about, picture, source = _TEXT[name], drawn.get(name), None
        if name in _DRAWN and (path / f"{name}.json").is_file():
            draw, model = _DRAWN[name]
            try:
                values = result_files.read(path / f"{name}.json", model).model_dump()
            except ValueError as error:
                problems.append(f"{path.name}/{name}.json: corrupted: {error}")
                continue
            values |= {"name": resolved["name"], "task": resolved["task"], "learner": resolved["learner"]}
            picture = html.figure(functools.partial(draw, result=values), title)
        elif name not in _DRAWN and (path / f"{name}.png").is_file():
            source = html.embedded(path / f"{name}.png")
        if picture or source:
            yield {"title": title, "about": about, "figure": picture, "source": source, "wide": name != "reliability"}


def _others(path):
    """Every other picture in the folder."""
    for file in sorted(path.glob("*.[ps][nv]g")):
        if file.stem not in _OF and (source := html.embedded(file)):
            yield {"title": file.stem.replace("_", " ").capitalize(), "about": file.name, "figure": None, "source": source, "wide": True}


def _starts(path, problems):
    """What the run was started on, each start as pairs of a term and its text, the last first."""
    starts = _json(path, problems) or []
    if not isinstance(starts, list) or not all(isinstance(start, dict) for start in starts):
        problems.append(f"{path.parent.name}/{path.name}: corrupted: not a list of starts.")
        return []
    return [[(key.replace("_", " "), _listed(value)) for key, value in start.items()] for start in reversed(starts)]


def _listed(value):
    return ", ".join(f"{k} {_plain(v)}" for k, v in value.items()) if isinstance(value, dict) else _plain(value)


def _splits(path, problems):
    """Each split of the data with its classes, their number and that of images."""
    splits = _json(path, problems) or {}
    try:
        return [(name, ", ".join(part["classes"]), f"{len(part['classes']):,}", f"{part['images']:,}") for name, part in splits.items()]
    except (AttributeError, KeyError, TypeError, ValueError):
        problems.append(f"{path.parent.name}/{path.name}: corrupted: not a record of splits.")
        return []


def _json(path, problems):
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        problems.append(f"{path.parent.name}/{path.name}: corrupted: not JSON.")
        return None
