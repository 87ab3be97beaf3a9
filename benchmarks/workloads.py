"""What is compared: each workload is a shipped configuration with a few keys changed, trained or used for one prediction."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Workload:
    """What is timed.

    Args:
        title: Learner, network and data.
        config: A file of `configs/`.
        keys: Keys of the configuration that differ, as `train.py --set` takes them.
        predict: Whether to time adapting to one task and predicting its queries, rather than a meta-iteration.
    """

    title: str
    config: str
    keys: tuple[str, ...] = ()
    predict: bool = False

    def described(self, spec):
        """The title with the sizes of the work, from the workload's specification."""
        learner, examples = spec["config"]["learner"], f"{spec['support']} examples"
        examples += f" and {spec['queries']} queries" if spec["queries"] else ""
        if self.predict:
            return f"adapt and predict: {self.title}; {examples}, {learner['draws'] or 1} draws"
        return f"{self.title}; {spec['tasks']} tasks of {examples}, {learner['inner_steps']} steps"

    @property
    def assignments(self):
        """All keys that differ: peers take outer steps of a constant rate, without clipping."""
        return ["optimizer.schedule=constant", "optimizer.clip_norm=null", "optimizer.clip_value=null", *self.keys]


_ONE_QUERY = ("task.train_queries=1", "training.meta_batch_size=16")
_TEN_IMAGES = ("task.train_shot=2", "learner.inner_batch=null", "training.meta_batch_size=16")
_SGD = (*_TEN_IMAGES, "learner.inner_optimizer=sgd")
_EIGHT_TASKS = ("task.train_queries=1", "training.meta_batch_size=8")
# On pictures of noise the configuration's own steps end in NaN; measurements of its 50 tasks would take minutes.
_SMALL_STEPS = ("learner.inner_lr=0.0001", "optimizer.learning_rate=0.001", "training.meta_batch_size=8")
_FOUR_TASKS = ("task.train_queries=1", "training.meta_batch_size=4")  # large pictures: more would take minutes for each measurement
_TWO_TASKS = ("task.train_queries=1", "training.meta_batch_size=2")
_FIVE_STEPS = ("learner.test_inner_steps=5",)

WORKLOADS = {
    "omniglot_20w1s_stochlwta": Workload("dense StochLWTA, Omniglot 20-way 1-shot", "omniglot_20w1s"),
    "omniglot_20w5s_stochlwta": Workload("dense StochLWTA, Omniglot 20-way 5-shot", "omniglot_20w5s"),
    "miniimagenet_5w5s_stochlwta": Workload("dense StochLWTA, mini-ImageNet 5-way 5-shot", "miniimagenet_5w5s", _SMALL_STEPS),
    "omniglot_conv4_maml": Workload("conv4 MAML, Omniglot 5-way 1-shot", "omniglot_5w1s_maml", _ONE_QUERY),
    "omniglot_conv4_fomaml": Workload("conv4 FOMAML, Omniglot 5-way 1-shot", "omniglot_5w1s_fomaml", _ONE_QUERY),
    "omniglot_conv4_stochlwta": Workload("conv4 StochLWTA, Omniglot 5-way", "omniglot_5w1s_stochlwta_conv4_tuned", _TEN_IMAGES),
    "omniglot_conv4_reptile": Workload("conv4 Reptile by SGD, Omniglot 5-way", "omniglot_5w1s_reptile", _SGD),
    "omniglot_conv4_bmaml": Workload("conv4 BMAML, Omniglot 5-way 1-shot", "omniglot_5w1s_bmaml", _EIGHT_TASKS),
    "miniimagenet_conv4_maml": Workload("conv4 MAML, mini-ImageNet 5-way 1-shot", "miniimagenet_5w1s_maml", _TWO_TASKS),
    "miniimagenet_conv4_fomaml": Workload("conv4 FOMAML, mini-ImageNet 5-way 1-shot", "miniimagenet_5w1s_fomaml", _FOUR_TASKS),
    "miniimagenet_conv4_stochlwta": Workload(
        "conv4 StochLWTA, mini-ImageNet 5-way 1-shot", "miniimagenet_5w1s_stochlwta_conv4", ("training.meta_batch_size=4",)
    ),
    "sinusoid_maml": Workload("MAML, sinusoids", "sinusoid_default_maml"),
    "sinusoid_stochlwta": Workload("StochLWTA, sinusoids", "sinusoid_default"),
    "sinusoid_abml": Workload("ABML, sinusoids", "sinusoid_default_abml"),
    "sinusoid_bmaml": Workload("BMAML, sinusoids", "sinusoid_default_bmaml"),
    "sinusoid_platipus": Workload("PLATIPUS, sinusoids", "sinusoid_default_platipus"),
    "omniglot_20w1s_stochlwta_predict": Workload("dense StochLWTA, Omniglot 20-way 1-shot", "omniglot_20w1s", predict=True),
    "omniglot_conv4_maml_predict": Workload("conv4 MAML, Omniglot 5-way 1-shot", "omniglot_5w1s_maml", _FIVE_STEPS, predict=True),
    "sinusoid_maml_predict": Workload("MAML, sinusoids", "sinusoid_default_maml", predict=True),
}


def sizes(config, predict):
    """Tasks of an iteration, and examples of a task's support set and queries, from a resolved configuration."""
    task = config["task"]
    shot = task["shot"] if predict else task.get("train_shot") or task["shot"]
    queries = task["queries"] if predict or task["train_queries"] is None else task["train_queries"]
    way = task.get("way", 1)
    return (1 if predict else config["training"]["meta_batch_size"]), way * shot, way * queries


# Floating-point operations. Of a task only matrix products and convolutions are counted, one count for all contestants: what they need
# at least, whatever they compute. Each layer's product is one in the forward pass, one for the gradient of its weights, one for that of its
# inputs (which the first layer on the data needs only if a scale and shift precede it); a second derivative doubles and adds them.


def task_flops(spec):
    """Floating-point operations of the matrix products and convolutions of one task."""
    learner = spec["config"]["learner"]
    name, steps = learner["name"], learner["inner_steps"]
    forward, first, second = (_products(spec, kind) for kind in ("forward", "first", "second"))
    support, query = spec["support"], spec["queries"]
    if spec["predict"]:
        steps = steps if learner["test_inner_steps"] is None else learner["test_inner_steps"]
        return first * steps * support + forward * query * (learner["draws"] or 1)
    if name in ("reptile", "stochlwta"):
        return first * steps * support
    if name == "fomaml":
        return first * (steps * support + query)
    if name == "maml":
        return second * steps * support + first * query
    if name == "abml":
        return second * steps * support + first * (support + query)
    if name == "platipus":
        return second * (steps + 1) * support + (second + first) * query
    if name == "bmaml":
        leader = learner["leader_steps"] * first * (support + query)
        return learner["particles"] * (second * steps * support + leader + forward * query)
    raise ValueError(f"no count of operations is known for {name}")


def _products(spec, kind):
    layers = _layers(spec)
    of_first_layer = {"forward": 1, "first": 2, "second": 4}[kind]
    of_others = {"forward": 1, "first": 3, "second": 9}[kind]
    scaled = spec["config"]["network"].get("input_scale", False)
    return 2 * (layers[0] * (of_others if scaled else of_first_layer) + sum(layers[1:]) * of_others)


def _layers(spec):
    """Multiplications of each layer on one example."""
    network, shape = spec["config"]["network"], spec["input_shape"]
    if network["name"] == "conv4":
        height, width, channels = shape
        layers = []
        for _ in range(4):
            halved = math.ceil(height / 2), math.ceil(width / 2)
            area = math.prod(halved) if network["downsampling"] == "stride" else height * width
            layers.append(area * 9 * channels * network["filters"])
            (height, width), channels = halved, network["filters"]
        features = channels * (height * width if network["head"] == "flatten" else 1)
        return [*layers, features * spec["outputs"]]
    if network["name"] == "mlp":
        widths = network["units"]
    else:
        widths = [blocks * network["competitors"] for blocks in network["blocks"]]
    features = math.prod(shape) // (4 if network.get("max_pool") else 1)
    widths = [features, *widths, spec["outputs"]]
    return [a * b for a, b in zip(widths, widths[1:])]
