"""Learners, networks and tasks from other packages: the modules of `import:`, and installed packages that announce themselves."""

import functools
import importlib
import os
import sys
from importlib import metadata

from stochlwta_tf.errors import ConfigurationError

#: The group of entry points; each names a module, which registers what it has when it is imported.
GROUP = "stochlwta_tf.plugins"


def load(modules, where):
    """Imports the modules that a configuration names, and once in a process those of installed packages.

    A module is found as by Python, in the working directory too.  It registers its classes: `LEARNERS["anil"] = ANIL`.

    Args:
        modules: The value of the key `import`: a name or a list of names.
        where: The configuration, for the message.

    Returns:
        The names, as a list.

    Raises:
        ConfigurationError: A module cannot be imported, whatever it raises.

    Example:

    >>> load("json", "mine.yaml")
    ['json']
    """
    names = [modules] if isinstance(modules, str) else modules
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise ConfigurationError(f"{where}: import must be a list of modules, such as [my_package.mine]. Received: import={modules!r}.")
    if names and not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    for name in names:
        _imported(f"{where}: import", name)
    _installed()
    return list(names)


@functools.cache
def _installed():
    for point in metadata.entry_points(group=GROUP):
        _imported(f"entry point {point.name} of {point.dist.name if point.dist else 'a package'}", point.module)


def _imported(what, name):
    try:
        importlib.import_module(name)
    except Exception as error:  # a module may raise anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        places = ", which is looked for in the working directory and on Python's path" if isinstance(error, ModuleNotFoundError) else ""
        raise ConfigurationError(f"{what}: cannot import {name}{places}: {type(error).__name__}: {reason}.") from error
