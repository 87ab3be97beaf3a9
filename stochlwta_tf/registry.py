"""Names that a configuration may use for learners, networks and tasks."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Named = TypeVar("Named", bound=Callable[..., Any])


class Registry(dict[str, Any]):
    """The learners, networks or tasks by name; a name stays with what it was given to.

    Args:
        kind: What it lists, for messages: `"learner"`.
        entries: Names and what they name.

    Raises:
        ValueError: By an assignment, if the name belongs to something else.

    Example:

    >>> registry = Registry("learner", {})
    >>> @registry.register("nearest")
    ... class Nearest: ...
    >>> sorted(registry)
    ['nearest']
    """

    def __init__(self, kind: str, entries: Mapping[str, Any]) -> None:
        super().__init__(entries)
        self.kind = kind

    def __setitem__(self, name: str, named: Any) -> None:
        has = self.get(name, named)
        if _origin(has) != _origin(named):  # a module that is imported again defines the same once more
            raise ValueError(f"The {self.kind} {name!r} exists: {_origin(has)}. Received: {_origin(named)}")
        super().__setitem__(name, named)

    def register(self, name: str) -> Callable[[Named], Named]:
        """A decorator that gives a class or function this name."""

        def add(named: Named) -> Named:
            self[name] = named
            return named

        return add


def _origin(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"
