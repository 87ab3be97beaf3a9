"""A run's configuration: its sections and keys, and their allowed values."""

import functools
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import Field

from stochlwta_tf.config import lookup, optimizers, places, plugins, renamed, yaml_file
from stochlwta_tf.config.schema import Section, options_of, section, unknown, validate
from stochlwta_tf.config.sections import ActiveLearning, Evaluation, Optimizer, Runtime, Training
from stochlwta_tf.errors import ConfigurationError

#: Parameters of the named callables that the program fills in.
GIVEN = {
    "task": ("split", "batch", "seed", "banks", "classes"),
    "network": ("input_shape", "outputs"),
    "learner": ("network", "likelihood"),
}


class Configuration(Section):
    """A whole configuration; `task`, `network` and `learner` have the fields of what they name.

    Attributes:
        modules: The key `import`: Python modules that register further learners, networks or tasks, or register them with Keras.
        name: Of the run, and of its folder.
        seed: Of the initial weights and of the training tasks with all their noise.
    """

    modules: Annotated[tuple[str, ...], Field(alias="import")] = ()
    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    task: Section
    network: Section
    learner: Section
    optimizer: Optimizer
    training: Training
    evaluation: Evaluation = Evaluation()
    active_learning: ActiveLearning = ActiveLearning()
    runtime: Runtime = Runtime()

    @property
    def protocol(self):
        """The protocol's name; tasks that have no classes know `standard` alone."""
        return getattr(self.task, "protocol", "standard")

    @pydantic.model_validator(mode="after")
    def _check(self):
        def multiple(key, value, of, of_value):
            if value % of_value:
                raise ValueError(f"{key} must be a multiple of {of}={of_value}. Received: {key}={value}.")

        training = self.training
        multiple("training.log_every", training.log_every, "training.steps_per_execution", training.steps_per_execution)
        multiple("training.iterations", training.iterations, "training.log_every", training.log_every)
        if training.micro_batch:
            multiple("training.meta_batch_size", training.meta_batch_size, "training.micro_batch", training.micro_batch)
        multiple("training.validate_every", training.validate_every, "training.log_every", training.log_every)
        if self.protocol == "original_code" and 50 % training.steps_per_execution:
            raise ValueError(
                "training.steps_per_execution must divide the 50 iterations between two evaluations of protocol original_code. "
                f"Received: training.steps_per_execution={training.steps_per_execution}."
            )
        if training.keep_best and not training.validate_every:
            raise ValueError("training.keep_best needs training.validate_every above 0. Received: training.keep_best=true.")
        if training.patience is not None and not training.validate_every:
            raise ValueError(f"training.patience needs training.validate_every above 0. Received: training.patience={training.patience}.")
        if list(training.extensions) != sorted({*training.extensions, training.iterations})[:-1]:
            raise ValueError(
                f"training.extensions must be increasing, and below training.iterations={training.iterations}. "
                f"Received: training.extensions={list(training.extensions)}."
            )
        if training.validate_every:
            multiple("training.validation_tasks", training.validation_tasks, "evaluation.batch", self.evaluation.batch)
        for learned, key in (("learn_inner_rates", "inner_lr"), ("learn_noise_std", "noise_std")):
            if getattr(self.learner, learned, False) and key in self.evaluation.overrides():
                raise ValueError(f"evaluation.{key} cannot be combined with learner.{learned}=true: the learned value is tested.")
        if wrong := optimizers.problem(self.optimizer):
            raise ValueError(wrong)
        if self.optimizer.clip_norm is not None and self.optimizer.clip_value is not None:
            raise ValueError(
                f"optimizer.clip_norm must be null if clip_value is set. Received: optimizer.clip_norm={self.optimizer.clip_norm}."
            )
        return self

    def resolved(self):
        """Every key with its value, as plain lists, numbers and strings; reading it back gives the same configuration."""
        values = self.model_dump(mode="json", serialize_as_any=True)
        overrides = self.evaluation.overrides()
        modules = values.pop("modules")
        values = {"import": modules, **values} if modules else values
        values["evaluation"] = {k: v for k, v in values["evaluation"].items() if k in Evaluation.model_fields or k in overrides}
        return values

    def to_yaml(self):
        return yaml_file.dump(self.resolved())


def load(path, assignments=(), silent=False):
    """Reads and checks a configuration file.

    Args:
        path: A YAML file, or the name of one, as `lookup.find` has it.
        assignments: `key.sub=value` strings that override the file.
        silent: Whether of former names of keys nothing is said.

    Returns:
        A `Configuration`, immutable.

    Raises:
        ConfigurationError: The first error, as one line that names the file and the key.

    Example:

    >>> config = load("configs/sinusoid_default.yaml", ["training.iterations=1000"])
    >>> config.training.iterations
    1000
    """
    path = lookup.find(path)
    return from_dict(read(path, assignments), path, silent)


def read(path, assignments=()):
    """The dictionary that `load` checks: of a file and what it extends, under the assignments.

    Needs no TensorFlow, so that a command can ask for it first.

    Raises:
        ConfigurationError: The file is not there or not YAML, or an assignment not `key=value`.
    """
    return functools.reduce(yaml_file.merge, (values for _, values in _layers(path, assignments)))


def _layers(path, assignments):
    """The (source, values) pairs of a file, what it extends and the assignments, with absolute paths."""
    files = [(file, places.located(values, file.parent)) for file, values in yaml_file.layers(lookup.find(path))]
    return [*files, ("--set", places.located(yaml_file.assigned(assignments), None))]


def origins(path, assignments=()):
    """Where each value of a configuration that `load` accepts comes from.

    Returns:
        A dict from `(key,)` or `(section, option)` to the file's `Path` or `"--set"`; a key that is absent has its default.

    Example:

    >>> origins("configs/omniglot_20w1s.yaml")["task", "way"].as_posix()
    'configs/parts/setting/20w1s.yaml'
    """
    layers = _layers(path, assignments)
    names = _former_names(_registered(functools.reduce(yaml_file.merge, (values for _, values in layers)), path))
    return yaml_file.origins([(source, renamed.current(values, names)) for source, values in layers])


def from_dict(values, where="configuration", silent=False):
    """The `Configuration` of a dictionary; `where` begins the error messages; `silent`: of former names of keys nothing is said."""
    if not isinstance(values, dict):
        raise ConfigurationError(f"{where}: must hold keys and values such as `seed: 0`. Received: {str(values)[:60]!r}.")
    if modules := plugins.load(values.get("import", ()), where):
        values = {**values, "import": modules}
    registered = _registered(values, where)
    names = tuple(values[kind]["name"] for kind in registered)
    values = renamed.current(values, _former_names(registered), silent)
    return validate(_model(*zip(names, registered.values(), strict=True)), values, where)


def _former_names(registered):
    """`{section: {former name of an option: its present one}}`, as the sections and what they name declare it in `renamed_options`."""
    declared = {"optimizer": Optimizer, "training": Training, "evaluation": Evaluation, **registered}
    names = {section: getattr(of, "renamed_options", {}) for section, of in declared.items()}
    return {**names, "evaluation": {**names["learner"], **names["evaluation"]}}


@functools.cache
def _model(task, network, learner):
    """The `Configuration` class for three pairs of a name and what it names; a suite loads hundreds of configurations."""
    learner_options = options_of(learner[1], GIVEN["learner"])
    of_test = {key: (hint, None) for key, (hint, _) in learner_options.items() if key not in learner[1].training_options}
    evaluation = pydantic.create_model("Evaluation", __base__=Evaluation, **of_test)
    sections = {kind: section(kind, *pair, GIVEN[kind]) for kind, pair in zip(GIVEN, (task, network, learner), strict=True)}
    fields = {kind: (model, ...) for kind, model in sections.items()} | {"evaluation": (evaluation, evaluation())}
    return pydantic.create_model("Configuration", __base__=Configuration, **fields)


def registries():
    """What a configuration may name, by section.

    Example:

    >>> list(registries())
    ['task', 'network', 'learner']
    """
    # Here, so that a file that is not there or not YAML is found without TensorFlow.
    from stochlwta_tf.learners import LEARNERS
    from stochlwta_tf.networks import NETWORKS
    from stochlwta_tf.tasks import TASKS

    return {"task": TASKS, "network": NETWORKS, "learner": LEARNERS}


def _registered(values, where):
    """The task class, the network function and the learner class that a configuration names, as a dictionary."""
    found = {}
    for kind, registry in registries().items():
        chosen = values.get(kind)
        if chosen is None:
            raise ConfigurationError(f"{where}: {kind} is missing. Allowed: {kind}.name={', '.join(registry)}.")
        if not isinstance(chosen, dict) or "name" not in chosen:
            allowed = ", ".join(registry)
            raise ConfigurationError(f"{where}: {kind} must be a section with a name: {allowed}. Received: {kind}={str(chosen)[:80]}.")
        name = chosen["name"]
        if not isinstance(name, str) or name not in registry:
            raise ConfigurationError(f"{where}: {unknown('value', f'{kind}.name={repr(name)[:80]}', str(name)[:80], registry)}")
        found[kind] = registry[name]
    return found


def default_folder(config):
    """Default folder of a run: `runs/<name>-seed<seed>`."""
    return Path("runs") / f"{config.name}-seed{config.seed}"
