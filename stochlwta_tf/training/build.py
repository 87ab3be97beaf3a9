"""Builds what a configuration describes: tasks, learner and optimizer; and sets up TensorFlow."""

import contextlib
import inspect
import os
import re
import zipfile

from stochlwta_tf.config import configuration, optimizers
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.training.data_record import difference, recall, split_of

# On a CPU the shards of a batch run side by side, so XLA's own threads would compete with them; and 512-bit registers, which LLVM avoids
# by default, suit the elementwise noise. XLA ignores the width where there are no such registers.
XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false --xla_cpu_prefer_vector_width=512"


def runtime(config):
    """Sets devices, threads and XLA's options (unless XLA_FLAGS is set); before anything else of TensorFlow runs.

    Raises:
        ConfigurationError: A GPU is requested and there is none, or TensorFlow has already started with other settings.
    """
    import tensorflow as tf

    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    if config.training.jit_compile:
        # Within such a program XLA's threads wait for one another longer than they compute; each core better has a process of its own.
        with contextlib.suppress(RuntimeError):  # TensorFlow has started: slower, no error
            tf.config.threading.set_intra_op_parallelism_threads(1)
    gpus = tf.config.list_physical_devices("GPU")
    if config.runtime.device == "gpu" and not gpus:
        raise ConfigurationError("runtime.device must be cpu or auto where TensorFlow finds no GPU. Received: runtime.device=gpu.")
    try:
        if config.runtime.device == "cpu" and gpus:
            tf.config.set_visible_devices([], "GPU")
        if config.runtime.intra_op_threads is not None:
            tf.config.threading.set_intra_op_parallelism_threads(config.runtime.intra_op_threads)
        if config.runtime.inter_op_threads is not None:
            tf.config.threading.set_inter_op_parallelism_threads(config.runtime.inter_op_threads)
    except RuntimeError as error:
        raise ConfigurationError(f"runtime can only be set before TensorFlow has started. Received: runtime={config.runtime!r}.") from error


def tasks(config, split, classes=None):
    """The task distribution of a split: the training tasks of the run's seed, or the test and validation tasks of the evaluation's.

    Args:
        config: A `Configuration`.
        split: `"train"`, `"validation"` or `"test"`.
        classes: The split's classes as a run recorded them, for data whose splits depend on the content of its folder; other
            data ignores them.
    """
    from stochlwta_tf.tasks import TASKS

    training, make = split == "train", TASKS[config.task.name]
    recorded = {"classes": classes} if classes is not None and "classes" in inspect.signature(make).parameters else {}
    with _named("task"):
        return make(
            split,
            config.training.meta_batch_size if training else config.evaluation.batch,
            config.seed if training else config.evaluation.seed,
            **config.task.options(),
            **recorded,
        )


def class_names(distribution):
    """The classes that tasks are drawn from; none for regression."""
    return distribution.bank.names if distribution.bank else ()


def under_protocol(config, name, trained):
    """A run's configuration and test tasks under a protocol.

    Args:
        config: The run's `Configuration`.
        name: `"standard"`, `"paper"` or `"original_code"`.
        trained: The `TrainedOn` of the run.

    Returns:
        `Configuration`, `TaskDistribution`; its `notes` say so if the test images have changed since training.

    Raises:
        ConfigurationError: The data set has no such protocol, or `standard` would test on a class that was trained on.
        DataError: A test class that the run recorded is missing.
    """
    from stochlwta_tf.tasks.protocols import check_disjoint

    own = name == config.protocol
    if not own:
        values = config.resolved()
        if "protocol" not in values["task"]:
            raise ConfigurationError(f"{config.task.name} tasks only have the protocol standard. Received: --protocol {name}.")
        values["task"]["protocol"] = name
        config = configuration.from_dict(values, where="--protocol")
    distribution = tasks(config, "test", trained.test and trained.test.classes)
    if trained.test:
        recall({"test": trained.test}, {"test": distribution})
    if name == "standard":
        check_disjoint(trained.classes, class_names(distribution))
    if own and trained.same_images and (changed := difference(trained.test, split_of(distribution))):
        distribution.notes = (*distribution.notes, f"the test images have changed since training: {changed}")
    return config, distribution


def learner(config, distribution, **compile_arguments):
    """The compiled learner for a task distribution, with fresh weights from `config.seed`.

    Args:
        config: A `Configuration`.
        distribution: The tasks.
        **compile_arguments: Arguments of `MetaLearner.compile` that are not the configuration's.
    """
    import keras

    from stochlwta_tf.learners import LEARNERS
    from stochlwta_tf.networks import NETWORKS

    keras.utils.set_random_seed(config.seed)
    with _named("network"), _dtype_policy(config.runtime.precision):
        network = NETWORKS[config.network.name](distribution.input_shape, distribution.outputs, **config.network.options())
    with _named("learner"):
        made = LEARNERS[config.learner.name](network, likelihood=distribution.likelihood, **config.learner.options())
        training = config.training
        own = {name: getattr(training, name) for name in ("steps_per_execution", "jit_compile", "micro_batch")}
        made.compile(optimizer(config), **{**own, **compile_arguments})
        made.get_config()  # a model that cannot be saved is found before it is trained
    for_test(made, config)
    return made


def for_test(learner, config):
    """The learner with the options that `evaluation` sets for the test; its weights are a copy of the given one's."""
    overrides = config.evaluation.overrides()
    if config.evaluation.uncertainty and (learner.likelihood.kind != "categorical" or config.protocol == "original_code"):
        raise ConfigurationError(
            "evaluation.uncertainty needs a classification whose queries are scored one by one. Received: evaluation.uncertainty=true with "
            f"task.name={config.task.name}, protocol {config.protocol}."
        )
    if "inner_steps" in overrides:  # in a test they override the learner's `test_inner_steps`
        overrides.setdefault("test_inner_steps", overrides["inner_steps"])
    with _named("evaluation"):
        return learner.with_options(**overrides) if overrides else learner


def saved_learner(path, distribution=None):
    """The learner saved in a file, checked to fit the tasks if these are given.

    Keras loads classes that are registered or its own, and no code: a `Lambda` layer is refused.

    Raises:
        UserError: The file is damaged, or needs what Keras refuses to load.
        ConfigurationError: The learner does not fit the tasks.
    """
    import keras

    from stochlwta_tf.learners import MetaLearner  # and with it the classes that a saved learner is made of

    try:
        if not zipfile.is_zipfile(path):  # of which Keras says that it is not there
            raise ValueError("it is not a whole .keras file.")
        learner = keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # of a damaged file Keras, zipfile, zlib, json and HDF5 raise a dozen types
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if unknown := re.match("Could not locate class '(.*?)'", reason):
            raise UserError(
                f"{path}: has the class {unknown[1]}, which nothing has registered: import its module first, or give the folder of a run "
                "whose configuration names the module under import."
            ) from error
        raise UserError(f"{path}: cannot be loaded, it is damaged or not a learner of this version: {reason[:200]}") from error
    if not isinstance(learner, MetaLearner):
        raise UserError(f"{path}: must be a learner that train.py saved. Received: a model of the class {type(learner).__name__}.")
    if distribution is None:
        return learner
    has = (learner.example_shape, learner.targets)
    needed = (tuple(distribution.input_shape), distribution.outputs)
    if has != needed:
        raise ConfigurationError(f"{path}: the tasks need inputs and outputs of {needed}. Received: a model of {has}.")
    return learner


def optimizer(config):
    """The Keras optimizer of the outer step."""
    return optimizers.build(config.optimizer, config.training.iterations, config.training.start)


@contextlib.contextmanager
def _dtype_policy(name):
    """Lets layers take a dtype policy at their construction; None leaves Keras's own."""
    import keras

    before = keras.config.dtype_policy()
    if name is not None:
        keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


@contextlib.contextmanager
def _named(section):
    """Prefixes the message of an invalid option with its section."""
    try:
        yield
    except (ConfigurationError, ValueError) as error:
        raise ConfigurationError(f"{section}: {str(error).splitlines()[0]}") from error
