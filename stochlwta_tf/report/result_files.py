"""What the reports read of the files in a run's folder: their models, which check them."""

import json
from typing import Annotated, Literal

import pydantic
from pydantic import Field

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1)]


class _Part(pydantic.BaseModel):
    """Part of a result's file; other content is ignored."""

    model_config = pydantic.ConfigDict(extra="ignore", strict=True, frozen=True)


class Measure(_Part):
    """A measure: its mean over the test tasks that did not diverge, half the width of its 95 % interval, and the median over all tasks.

    The paper's number in a file is ignored: it is looked up when a report is made.
    """

    value: _Finite
    ci95: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    unit: str
    median: _Finite | None = None
    diverged: Annotated[int, Field(ge=0)] = 0


class Parameters(_Part):
    """Numbers of parameters: those that train, and all that are stored."""

    trainable: _Count
    stored: _Count


class Evaluation(_Part):
    """What the tables read of an `evaluation*.json`."""

    name: str
    measures: Annotated[dict[str, Measure], Field(min_length=1)]
    after_steps: dict[str, dict[str, Measure]] = {}
    tasks: _Count
    protocol: Literal["standard", "paper", "original_code"]
    batch_statistics: Literal["transductive", "support"] | None
    iterations: _Count
    seed: Annotated[int, Field(ge=0)]
    task: dict
    learner: dict
    evaluation: dict
    inner_steps: Annotated[int, Field(ge=0)]
    draws: _Count
    parameters: Parameters
    device: str
    command: str
    data_notes: list[str] = []
    per_task: dict[str, list[_Finite | None]] = {}
    training: dict[str, _Finite] = {}
    adapt_and_predict: dict[str, _Finite] = {}
    classes: dict[str, int] = {}
    noise_std: _Finite | None = None

    def measure(self, name):
        """A `Measure` of the test, or with `mse@10` of the test after 10 inner steps; None if it was not measured."""
        name, _, steps = name.partition("@")
        return (self.after_steps.get(steps, {}) if steps else self.measures).get(name)


class Spread(_Part):
    """Times of one thing, in milliseconds: median and quartiles of `count` measurements, and the time to compile it."""

    median_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    low_ms: _Finite
    high_ms: _Finite
    count: _Count
    compile_seconds: _Finite


class TimingEntry(_Part):
    """The times of one configuration; None where only its parameters were counted."""

    config: dict
    train: Spread | None = None
    predict: Spread | None = None
    parameters: Parameters


class TimingFile(_Part):
    """What the tables read of a `timing*.json`."""

    device: str
    threads: dict
    command: str
    entries: Annotated[list[TimingEntry], Field(min_length=1)]


class ActiveCurve(_Part):
    """A strategy of active learning: the measure before and after each query, and how many tasks had diverged there."""

    value: list[_Finite]
    diverged: list[Annotated[int, Field(ge=0)]] = []


class ActiveFile(_Part):
    """What the figure reads of an `active*.json`: a learner's own strategy first, and random choice."""

    name: str
    protocol: str
    iterations: _Count
    seed: Annotated[int, Field(ge=0)]
    task: dict
    pool: _Count
    evaluation_seed: Annotated[int, Field(ge=0)]
    labelled: Annotated[list[_Count], Field(min_length=1)]
    strategies: dict[str, ActiveCurve]

    @pydantic.model_validator(mode="after")
    def _check(self):
        if "random" not in self.strategies or any(len(curve.value) != len(self.labelled) for curve in self.strategies.values()):
            raise ValueError(f"strategies must have random, and a value for each of {len(self.labelled)} numbers of labels")
        return self


class ReliabilityFile(_Part):
    """What is read of a `reliability.json`: for each bin of the confidence its queries, and their mean confidence and accuracy."""

    tasks: _Count
    protocol: str
    edges: Annotated[list[_Finite], Field(min_length=2)]
    count: list[Annotated[int, Field(ge=0)]]
    confidence: list[_Finite | None]
    accuracy: list[_Finite | None]
    ece: _Finite


class LayerWinners(_Part):
    """What is read of a layer in a `winners.json`."""

    name: str
    blocks: _Count
    competitors: _Count
    unused: Annotated[int, Field(ge=0)]
    overall: list[_Finite]
    by_class: Annotated[list[list[_Finite | None]], Field(min_length=1)]


class WinnersFile(_Part):
    """What is read of a `winners.json`."""

    tasks: _Count
    draws: _Count
    rows: str
    layers: Annotated[list[LayerWinners], Field(min_length=1)]


def read(path, model):
    """A file's model.

    Args:
        path: The file.
        model: The class of the model, such as `Evaluation`.

    Raises:
        ValueError: The file cannot be read or is something else, as one line.

    Example:

    >>> read(Path("results/runs/omniglot_5w1s_reptile-seed0/evaluation.json"), Evaluation).measures["accuracy"].value
    """
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        return model.model_validate_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON (line {error.lineno}: {error.msg}).") from error
    except RecursionError as error:
        raise ValueError("not a result: nested too deep.") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}.") from error
