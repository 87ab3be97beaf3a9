"""Tasks, methods and runs in words, for the titles of pictures."""

from stochlwta_tf.paper.numbers import METHODS

_DATA = {
    "omniglot": "Omniglot",
    "miniimagenet": "mini-ImageNet",
    "cifar100": "CIFAR-100",
    "glyphs": "glyphs",
    "image_folder": "images of a folder",
}


def task(values):
    """A resolved configuration's task.

    Example:

    >>> task({"name": "sinusoid", "setting": "challenging"})
    'challenging sinusoids'
    """
    name = values["name"]
    if name == "sinusoid":
        return f"{values['setting']} sinusoids"
    ways = f" {values['way']}-way {values['shot']}-shot" if "way" in values and "shot" in values else ""
    return _DATA.get(name, name.replace("_", " ")) + ways


def method(name):
    """A learner's name as the papers write it."""
    return METHODS.get(name, name)


def run(result):
    """A test's run, such as "PLATIPUS, challenging sinusoids", from the learner and task in its file; else the run's name."""
    if not {"learner", "task"} <= result.keys():
        return result["name"]
    return f"{method(result['learner']['name'])}, {task(result['task'])}"


def validated(values):
    """Which classes the validation tasks of a resolved configuration's task come from.

    Omniglot has no validation classes of its own, and the splits of the other protocols have none; a folder's depend on its split.
    """
    if values["name"] == "image_folder":
        return "validation classes"
    own = bool(values["validation_classes"]) if "validation_classes" in values else values.get("protocol", "standard") == "standard"
    return "held-out classes" if own else "training classes"
