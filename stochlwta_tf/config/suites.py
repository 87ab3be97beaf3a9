"""Suites: YAML files that lay out a table or figure and name the run that fills each cell."""

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import pydantic
from pydantic import Field

from stochlwta_tf.config import configuration, lookup, yaml_file
from stochlwta_tf.config.schema import Section, unknown, validate
from stochlwta_tf.errors import ConfigurationError

Value = str | bool | int | float | None | list[str | int | float]
Keys = tuple[str, ...]


class Column(Section):
    """A column of a table.

    Attributes:
        label: Its name, also in the paper's numbers.
        task: Fills `{task}` in a row's `config` and `name`; the label by default.
        measure: What its cells hold, such as `mse`, or `mse@10` for 10 inner steps; the suite's by default.
        paper: Keys of its numbers in `paper/numbers.yaml`, followed by the row's own. The suite's by default.
        reported: Its name among the paper's columns; the label by default.
        reported_rows: Rows, by label with or without variant, that are compared with the paper's numbers of this column; all by default.
        set: Overrides of the configuration in its cells.
        run: Whether runs fill its cells; false if a timing does.
    """

    label: str
    task: str | None = None
    measure: str | None = None
    paper: Keys | None = None
    reported: str | None = None
    reported_rows: tuple[str, ...] | None = None
    set: dict[str, Value] = {}
    run: bool = True


class Row(Section):
    """A row of a table, or a point of a figure's curve.

    Attributes:
        label: The method or setting.
        variant: Distinguishes it from another row with the same label.
        config: Name of a configuration, with `{task}` for the column's task.
        name: Name of the runs; the configuration's own by default.
        set: Overrides of the configuration.
        test: Overrides in the test only, on the same trained model: of the learner's options, or of other keys, such as `task.shot`.
        x: Position on a figure's horizontal axis.
        columns: Labels of the columns that the row has a cell in; all by default.
        compared_with: Another row, by label with variant, from which the row's difference on the same tasks is shown.
        paper: Keys of its numbers in the paper's section; the label by default, `[]` for none.
    """

    label: str
    variant: str | None = None
    config: str
    name: str | None = None
    set: dict[str, Value] = {}
    test: dict[str, Value] = {}
    x: float | None = None
    columns: tuple[str, ...] | None = None
    compared_with: str | None = None
    paper: Keys | None = None

    @property
    def full_label(self):
        return f"{self.label} ({self.variant})" if self.variant else self.label


class Suite(Section):
    """A suite file.

    A row with `methods` expands to one row per method: a list of labels of `configs/suites/lists/methods.yaml`, or `all` of them; in its
    texts `{method}` and `{label}` are the method's.

    Attributes:
        file: Its file's name, without `.yaml`; not a key of the file.
        title: Of the table or figure.
        paper: Keys of its numbers in `paper/numbers.yaml`.
        measure: What the cells hold, unless a column says otherwise.
        literature: Keys of rows of the paper that were not run by its authors.
        seeds: Of the runs.
        set: Overrides of every row's configuration.
        budget: Length of each new run, such as `20m`, unless the command gives another.
        by_name: Whether only runs of a row's own name fill its cells, not longer ones of the same configuration.
        also: Options of the learner under which every run is tested once more, such as `[{batch_statistics: support}]`.
        active: Overrides of the configuration in the test of active learning, which then fills the cells.
        page: Its place among the tables with which the page of results begins; the paper's own tables follow without one.
        columns, rows: The cells.
        note: A remark for the reader.
    """

    file: str
    title: str
    paper: Keys = ()
    measure: str = "accuracy"
    literature: Keys = ()
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0,)
    set: dict[str, Value] = {}
    budget: str | None = None
    by_name: bool = False
    also: tuple[dict[str, Value], ...] = ()
    active: dict[str, Value] = {}
    page: Annotated[int, Field(ge=1)] | None = None
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    note: str = ""

    @pydantic.model_validator(mode="after")
    def _check(self):
        labels, filled = [column.label for column in self.columns], set()
        for column in self.columns:
            for label in column.reported_rows or ():
                if label not in self.row_labels:
                    raise ValueError(f"column {column.label}: {unknown('row', label, label, self.row_labels)}")
        for row in self.rows:
            others = [other.full_label for other in self.rows if other is not row]
            if row.compared_with is not None and row.compared_with not in others:
                raise ValueError(
                    f"row {row.full_label}: {unknown('value', f'compared_with={row.compared_with!r}', row.compared_with, others)}"
                )
            for label in row.columns or ():
                if label not in labels:
                    raise ValueError(f"row {row.label}: {unknown('column', label, label, labels)}")
            for key, template in (("config", row.config), ("name", row.name or "")):
                try:
                    template.format(task="")
                except (KeyError, IndexError, ValueError, AttributeError) as error:
                    raise ValueError(f"row {row.label}: {key} may have {{task}}, and no other braces. Received: {template}.") from error
            for label in row.columns or labels:
                if (row.full_label, label) in filled:
                    raise ValueError(f"two rows have the label {row.full_label} and the column {label}; tell them apart by their variant.")
                filled.add((row.full_label, label))
        return self

    @property
    def row_labels(self):
        """What rows may be named by, each name once: labels with or without the variant."""
        return list(dict.fromkeys(name for row in self.rows for name in (row.label, row.full_label)))

    def part(self, columns=None, seeds=None, rows=None):
        """The suite with only some of its columns or rows, by label, or with other seeds.

        A row's label with its variant, or that of a row without one, is one row's; a bare label that no row has in full stands for all its
        variants.

        Raises:
            ConfigurationError: It has no such column or row, or a seed is negative.
        """
        if seeds and min(seeds) < 0:
            raise ConfigurationError(f"--seeds must be 0 or more. Received: {min(seeds)}.")
        kept_columns = [column for column in self.columns if columns is None or column.label in columns]
        full = {row.full_label for row in self.rows}
        kept_rows = [row for row in self.rows if rows is None or row.full_label in rows or row.label in {*rows} - full]
        self._check_labels("column", columns, [column.label for column in self.columns])
        self._check_labels("row", rows, self.row_labels)
        return self.model_copy(update={"columns": tuple(kept_columns), "rows": tuple(kept_rows), "seeds": tuple(seeds or self.seeds)})

    def _check_labels(self, what, given, labels):
        for label in given or ():
            if label not in labels:
                raise ConfigurationError(f"{self.file}: {unknown(what, label, label, labels)}")

    def cells(self):
        """Every `Cell`, row by row."""
        return [
            Cell(self, row, column) for row in self.rows for column in self.columns if row.columns is None or column.label in row.columns
        ]


class Cell(NamedTuple):
    """A row and a column of a suite."""

    suite: Suite
    row: Row
    column: Column

    @property
    def measure(self):
        return self.column.measure or self.suite.measure

    @property
    def config(self):
        """The configuration's file, as it is given on the command line."""
        return f"configs/{self.row.config.format(task=self.task)}.yaml"

    @property
    def task(self):
        return self.column.task or self.column.label

    @property
    def assignments(self):
        """The `key=value` settings over the file."""
        name = [f"name={self.row.name.format(task=self.task)}"] if self.row.name else []
        return [*name, *_assignments({**self.suite.set, **self.row.set, **self.column.set})]

    @property
    def test_assignments(self):
        """The settings of a further test that fills the cell; empty if the run's own test does."""
        return [*self.further_test, *_assignments(self.suite.active)]

    @property
    def compared(self):
        """The cell of the row that this one is compared with, in the same column; None without one."""
        found = (cell for cell in self.suite.cells() if cell.row.full_label == self.row.compared_with and cell.column == self.column)
        return next(found, None)

    def tested(self, options):
        """The cell with further options of the learner in its test."""
        return self._replace(row=self.row.model_copy(update={"test": {**self.row.test, **options}}))

    @property
    def further_test(self):
        """The settings of a row's `test`."""
        return _assignments({key if "." in key else f"evaluation.{key}": value for key, value in self.row.test.items()})

    @property
    def exists(self):
        try:
            return lookup.find(self.config).exists()
        except ConfigurationError:
            return False

    def load(self, more=()):
        """The run's `Configuration`, without the overrides of its test.

        Raises:
            ConfigurationError: It is not valid, or the test's options are not.
        """
        config = configuration.load(self.config, [*self.assignments, *more])
        options = list(config.learner.options())
        for key in self.row.test:
            if "." not in key and key not in options:
                raise ConfigurationError(f"{self.suite.file}: row {self.row.full_label}: test: {unknown('option', key, key, options)}")
        if self.row.test:
            configuration.load(self.config, [*self.assignments, *self.further_test])
        return config


def _assignments(values):
    return [f"{key}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}" for key, value in values.items()]


def load(name):
    """Reads and checks a suite.

    Args:
        name: A file, or the name of one in `configs/suites`, of the working directory or the package.

    Raises:
        ConfigurationError: There is no such suite, or the first error in it.

    Example:

    >>> load("table5").cells()[0].config
    'configs/omniglot_20w1s.yaml'
    """
    path = Path(name)
    if path.suffix != ".yaml":
        found = lookup.suites()
        if name not in found:
            searched = ", ".join(map(str, lookup.folders("suites")))
            raise ConfigurationError(f"{unknown('suite', name, name, found)} Searched: {searched}.")
        path = found[name]
    values = {**yaml_file.read(path), "file": path.stem}
    if isinstance(values.get("columns"), list):
        values["columns"] = [{"label": column} if isinstance(column, str) else column for column in values["columns"]]
    if isinstance(values.get("rows"), list):
        values["rows"] = [expanded for row in values["rows"] for expanded in _expanded(row, path)]
    return validate(Suite, values, path)


def _expanded(row, path):
    """A row as it is, or for a row with `methods` one of each: `{method}` and `{label}` in its texts are the method's."""
    if not isinstance(row, dict) or "methods" not in row:
        return [row]
    methods = {method["label"]: method for method in yaml_file.read(lookup.find("configs/suites/lists/methods.yaml"))["methods"]}
    wanted, rest = row["methods"], {key: value for key, value in row.items() if key != "methods"}
    wanted = list(methods) if wanted == "all" else wanted if isinstance(wanted, list) else [wanted]
    for label in wanted:
        if label not in methods:
            raise ConfigurationError(f"{path}: {unknown('value', f'methods={label!r}', label, ['all', *methods])}")
    return [{"label": label, **_filled(rest, methods[label])} for label in wanted]


def _filled(value, method):
    if isinstance(value, str):
        return value.replace("{method}", method["method"]).replace("{label}", method["label"])
    if isinstance(value, list):
        return [_filled(item, method) for item in value]
    return {key: _filled(item, method) for key, item in value.items()} if isinstance(value, dict) else value
