"""Where configurations and suites are found by name: in the working directory first, then in the package."""

import difflib
import os
from pathlib import Path

from stochlwta_tf.errors import ConfigurationError

_PACKAGE = Path(__file__).parents[1]


def packaged(name):
    """A folder that comes with the package: inside it when it is installed, next to it in a checkout.

    Example:

        packaged("models")  # Path(".../site-packages/stochlwta_tf/models")
    """
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


PACKAGED = packaged("configs")
_RECOMMENDED = "recommended"  # the folder of configurations to be used rather than compared


def folders(name="."):
    """The folders `configs/<name>` that there are: the working directory's, then the package's.

    Example:

        folders("suites")  # [Path("configs/suites"), Path(".../site-packages/stochlwta_tf/configs/suites")]
    """
    own, packaged = Path("configs", name), PACKAGED / name
    return [folder for folder in dict.fromkeys([own, packaged]) if folder.is_dir() and (folder is own or not _same(own, packaged))]


def find(path):
    """The file of a configuration.

    A path to a file is that file.  A bare name, with or without `.yaml` or a leading `configs/`, is looked for in `configs/` of the working
    directory and then in the package's.

    Args:
        path: `"sinusoid_default"`, `"sinusoid_default.yaml"`, `"configs/sinusoid_default.yaml"`, `"recommended/own_images"`, or any path.

    Raises:
        ConfigurationError: A bare name is in neither.

    Example:

        find("sinusoid_default")  # Path("configs/sinusoid_default.yaml") in a checkout
    """
    given = Path(path)
    inside = given.relative_to("configs") if given.parts[:1] == ("configs",) else given
    if (os.path.exists(given) and not given.is_dir()) or given.is_absolute() or not _is_name(inside, given):
        return given
    file = inside if inside.suffix == ".yaml" else inside.with_name(f"{inside.name}.yaml")
    for folder in folders():
        if os.path.isfile(folder / file):
            return folder / file
    searched = [".", *map(str, folders())]
    names = {found.stem: found.stem for folder in folders() for found in folder.glob("*.yaml")}
    names |= {found.stem: f"{_RECOMMENDED}/{found.stem}" for folder in folders(_RECOMMENDED) for found in folder.glob("*.yaml")}
    near = [names[stem] for stem in difflib.get_close_matches(file.stem, names, n=1)]
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigurationError(f"{path}: cannot read the configuration: not found in {', '.join(searched)}.{suggestion}")


def suites():
    """The suite files by name, in alphabetical order; the working directory's hide those of the same name in the package.

    Example:

        suites()["table5"]  # Path("configs/suites/table5.yaml") in a checkout
    """
    found = {path.stem: path for folder in reversed(folders("suites")) for path in folder.glob("*.yaml")}
    return dict(sorted(found.items()))


def _is_name(inside, given):
    """Whether the path names a configuration rather than a place: `runs/a/config.yaml` is looked for nowhere else."""
    short = len(inside.parts) == 1 or inside.parts[:1] == (_RECOMMENDED,)
    return bool(inside.name) and ".." not in inside.parts and (short or inside != given)


def _same(folder, other):
    return folder.resolve() == other.resolve()
