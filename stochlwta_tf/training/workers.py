"""The devices and processes that a training is divided over: `runtime.distribution`."""

import contextlib
import json
import os
import signal

import keras
import tensorflow as tf

from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.training import build

#: What TensorFlow raises where another process has ended, or has been started anew.
_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)


class WorkerLost(UserError):
    """Another worker of the training has ended: this one cannot go on without it."""


class Workers:
    """This process alone, with one device or several, or one of several processes.

    Args:
        strategy: A `tf.distribute` strategy; None for one device.
        index: Number of this process.
        count: How many there are.

    Attributes:
        writes: Whether this is the process that writes the run folder; there is one.
        several: Whether there are others.
    """

    def __init__(self, strategy=None, index=0, count=1):
        self.strategy, self.index, self.count = strategy, index, count
        self.writes, self.several = index == 0, count > 1
        self.replicas = strategy.num_replicas_in_sync if strategy else 1

    def compile_arguments(self):
        """Arguments of `MetaLearner.compile` that divide its batches; several processes meet after every meta-iteration."""
        if self.strategy is None:
            return {}
        alone = {"steps_per_execution": 1} if self.several else {}
        return {"replicas": (self.strategy, self.replicas // self.count), **alone}

    def parts(self, config):
        """The places in a batch of training, and in one of validation, of the tasks of this process; None where these are all.

        Raises:
            ConfigurationError: A batch cannot be divided over the replicas.
        """
        training = config.training
        batches = {"training.meta_batch_size": training.meta_batch_size}
        if training.validate_every:
            batches["evaluation.batch"] = config.evaluation.batch
        for key, batch in batches.items():
            if batch % self.replicas:
                raise ConfigurationError(f"{key} must be a multiple of the {self.replicas} replicas. Received: {key}={batch}.")
        if training.micro_batch and (each := training.meta_batch_size // self.replicas) % training.micro_batch:
            raise ConfigurationError(
                f"training.micro_batch must divide the {each} tasks of a replica. Received: training.micro_batch={training.micro_batch}."
            )
        return tuple(self._part(batch) for batch in (training.meta_batch_size, config.evaluation.batch))

    def _part(self, batch):
        each = batch // self.count
        return range(each * self.index, each * (self.index + 1)) if self.several else None

    def share(self, variables):
        """Gives the variables in all processes the values that they have in the one that writes, which may have restored them."""
        if not self.several:
            return
        values = [tf.cast(tf.reshape(v, [-1]), tf.float64) for v in variables]  # exact for float32, and for integers up to 2^53
        vector = tf.concat(values, 0)
        with self.meeting():
            shared = self._sum(vector if self.writes else tf.zeros_like(vector)) / (self.replicas // self.count)
        if not self.writes:
            pieces = tf.split(shared, [int(tf.size(v)) for v in values])
            for variable, piece in zip(variables, pieces, strict=True):
                variable.assign(tf.cast(tf.reshape(piece, variable.shape), variable.dtype))

    def agree(self, flag):
        """Whether a flag is set in the process that writes."""
        if not self.several:
            return flag
        with self.meeting():
            return bool(self._sum(tf.constant([float(flag and self.writes)]))[0] > 0)

    def end(self):
        """Waits until all processes are here, which end together: TensorFlow takes one that ends alone for a crash."""
        if self.several:
            with contextlib.suppress(*_LOST):
                self._sum(tf.zeros([1]))

    def _sum(self, vector):
        """The sum of a vector over all replicas."""

        @tf.function(autograph=False)
        def total(own):
            # Of its copy: what is handed in has no device that the sum could be put on.
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(own))

        return self.strategy.experimental_local_results(self.strategy.run(total, args=(vector,)))[0]

    @contextlib.contextmanager
    def meeting(self):
        """Turns the loss of another process, with which this one computes, into a `WorkerLost`."""
        try:
            yield
        except _LOST as error:
            if not self.several:
                raise
            raise WorkerLost(f"worker {self.index}: another worker has ended ({str(error).strip().splitlines()[-1][:120]}).") from error


class StopTogether(keras.callbacks.Callback):
    """Ends the training in all processes where the one that writes has ended it.

    Args:
        workers: The `Workers`.
    """

    def __init__(self, workers):
        super().__init__()
        self._workers = workers

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = self._workers.agree(self.model.stop_training)


def start(config):
    """Sets up TensorFlow as `build.runtime` does, and gives the `Workers` of a configuration's `runtime.distribution`.

    Raises:
        ConfigurationError: `TF_CONFIG` does not say which workers there are.
        WorkerLost: Not all of them came.
    """
    build.runtime(config)
    if config.runtime.distribution == "none":
        return Workers()
    if config.runtime.distribution == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return Workers(tf.distribute.MirroredStrategy(devices))
    index, count = _place(os.environ.get("TF_CONFIG", ""))
    workers = Workers(index=index, count=count)
    with workers.meeting():
        workers = Workers(tf.distribute.MultiWorkerMirroredStrategy(), index, count)
    # TensorFlow has set a handler of its own for SIGTERM, which would leave the process running.
    with contextlib.suppress(ValueError):  # Python sets handlers in its main thread alone
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    return workers


def _place(text):
    """Number of this process and of all, from `TF_CONFIG`."""
    try:
        read = json.loads(text)
        cluster, task = read["cluster"], read["task"]
        names = [(kind, number) for kind in ("chief", "worker") for number in range(len(cluster.get(kind, ())))]
        return names.index((task["type"], int(task["index"]))), len(names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            "runtime.distribution=multi_worker needs the environment variable TF_CONFIG, such as"
            ' {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}}.'
            f" Received: TF_CONFIG={text[:100]!r}."
        ) from error
