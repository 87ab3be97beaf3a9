"""The sections of a configuration whose keys are always the same."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from stochlwta_tf.config.schema import Section

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class Optimizer(Section):
    """The outer step: a Keras optimizer on the meta-gradient.

    Attributes:
        name: A Keras optimizer in lower case: `sgd` (Reptile, StochLWTA-ML: the meta-gradient is mean(psi − psi')), `adam` (MAML and the
            others), `adamw`, ….
        arguments: Its other arguments, such as `{weight_decay: 0.01}`.
        learning_rate: The outer step size, at the start.
        schedule: `constant`; `linear` from `learning_rate` to `end_learning_rate` over `training.iterations`; or a Keras schedule, such as
            `cosine_decay`, which is as long unless these say otherwise.
        schedule_arguments: The other arguments of a Keras schedule, such as `{alpha: 0.1}`.
        end_learning_rate: The step size that a linear schedule ends at.
        clip_norm: Largest norm of each variable's meta-gradient; null for none.
        clip_value: Largest absolute entry of the meta-gradient; null for none.
    """

    renamed_options: ClassVar = {"final": "end_learning_rate"}

    name: str
    arguments: dict[str, Any] = {}
    learning_rate: Positive
    schedule: str = "constant"
    schedule_arguments: dict[str, Any] = {}
    end_learning_rate: Annotated[float, Field(ge=0)] = 0.0
    clip_norm: Positive | None = None
    clip_value: Positive | None = None


class Training(Section):
    """Length of the training, and how often it is recorded.

    Attributes:
        iterations: Meta-iterations (outer steps); a multiple of `log_every`.
        meta_batch_size: Tasks in a meta-iteration.
        log_every: Meta-iterations between two rows of `metrics.csv`, each followed by a checkpoint; a multiple of `steps_per_execution`.
        validate_every: Meta-iterations between two validations, the last of which is at the end; a multiple of `log_every`, or 0 for none.
        validation_tasks: Tasks in a validation, always the same ones; a multiple of `evaluation.batch`.
        max_to_keep: Checkpoints kept.
        keep_best: Whether the model is the one of the best validation, not the last; needs `validate_every`.
        patience: Validations in a row that do not beat the best one, after which the training ends; null for all iterations.
        steps_per_execution: Meta-iterations in one call of the compiled graph; more is faster where an iteration takes milliseconds.
        jit_compile: Whether these are one XLA program, outer steps too: faster where an iteration takes a few milliseconds, slower for
            larger networks. It plays no part where tasks do not run vectorised under XLA, nor with `micro_batch` or a distribution.
        micro_batch: Tasks of a meta-iteration at once, over which the meta-gradient is accumulated; null for all.
        initial_weights: A run's folder or a `.keras` file whose weights the training starts from; null for fresh ones.
        extensions: The iterations at which a finished run went on (`train.py --extend`); the schedule runs anew from the last of them.
    """

    renamed_options: ClassVar = {"batch": "meta_batch_size", "keep": "max_to_keep"}

    iterations: Count
    meta_batch_size: Count
    log_every: Count = 100
    validate_every: Annotated[int, Field(ge=0)] = 0
    validation_tasks: Count = 100
    max_to_keep: Count = 2
    keep_best: bool = False
    patience: Count | None = None
    steps_per_execution: Count = 1
    jit_compile: bool = False
    micro_batch: Count | None = None
    initial_weights: str | None = None
    extensions: tuple[Count, ...] = ()

    @property
    def start(self):
        """The iteration at which the training, or its last extension, starts."""
        return max(self.extensions, default=0)


class Evaluation(Section):
    """The test.  Learner options such as `inner_steps` or `draws` may be given here too, and override the learner's in the test.

    Attributes:
        tasks: Test tasks.
        batch: Tasks adapted at once, in validation too.
        seed: Of the test and validation tasks: the same seed is the same tasks, whatever is trained.
        after_training: Whether `train.py` tests the model after training.
        inner_step_counts: Numbers of inner steps after which to test, in addition to the learner's own.
        uncertainty: Whether a test of classes measures what the uncertainty is worth, too; the temperature is fitted on
            `training.validation_tasks` validation tasks.
        both_statistics: Whether a network with batch normalisation is tested with the batch statistics of the queries and with those of
            the support set, from one adaptation to each task; the result of those that are not the learner's own is
            `evaluation-batch_statisticssupport.json` (or `…transductive.json`).
    """

    renamed_options: ClassVar = {"steps": "inner_step_counts"}

    tasks: Annotated[int, Field(ge=2)] = 600
    batch: Count = 50
    seed: Annotated[int, Field(ge=0)] = 0
    after_training: bool = True
    inner_step_counts: tuple[Annotated[int, Field(ge=0)], ...] = ()
    uncertainty: bool = False
    both_statistics: bool = False

    def overrides(self):
        """The learner's options that are set here."""
        return {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set - Evaluation.model_fields.keys()}


class ActiveLearning(Section):
    """What `evaluate.py --active` does.

    Attributes:
        strategy: `variance` (regression) or `entropy` (classification) of the draws, compared with `random`, which always runs; `random`
            alone; or `auto`: the first where the learner's draws differ.
        start: Initially labelled examples, per class in classification; null for 5 points, or the task's shot.
        queries: How many labels are queried, one at a time.
        pool: Examples whose labels may be queried; in classification a multiple of the classes.
    """

    strategy: Literal["auto", "variance", "entropy", "random"] = "auto"
    start: Count | None = None
    queries: Count = 5
    pool: Count = 100


class Runtime(Section):
    """What TensorFlow runs on; all but `precision` takes effect only before TensorFlow has started.

    Attributes:
        device: `cpu`, `gpu`, or `auto` for a GPU where there is one.
        intra_op_threads: Threads inside an operation; null for TensorFlow's choice, or for one with `training.jit_compile`.
        inter_op_threads: Operations at a time; null for TensorFlow's choice.
        distribution: What the tasks of a training are divided over: `none`, one device; `mirrored`, all GPUs; `multi_worker`, the
            processes in the environment variable `TF_CONFIG`.
        precision: Dtype policy of the network's layers, a part of the model; null for Keras's own, float32 unless set otherwise. In
            the mixed ones weights, likelihood, KL terms, batch statistics and outer step are in float32.
    """

    device: Literal["auto", "cpu", "gpu"] = "auto"
    intra_op_threads: Count | None = None
    inter_op_threads: Count | None = None
    distribution: Literal["none", "mirrored", "multi_worker"] = "none"
    precision: Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None = None
