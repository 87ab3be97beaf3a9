"""A Keras model with its own compiled functions, and options that are declared once and set once."""

import inspect
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin, get_type_hints

import keras
from typing_extensions import Self

#: Marks an option in its annotation: it plays no part in adaptation and prediction, so a test cannot override it.
TRAINING_ONLY = "training only"
_NO_OPTIONS = {"self", "network"}
_COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)  # `**kwargs`, `**options`, …


class CompiledModel(keras.Model):
    """Base of `MetaLearner`: compiled functions capture the options, so these are fixed at construction.

    The options are the arguments of a class and of its bases, but for `network`; each is also an attribute.  They are
    declared in the signature: the configuration reads types, bounds and defaults from it, and `get_config`, the fixed options and the
    training-only ones (`Annotated[..., TRAINING_ONLY]`) follow from it.

    Attributes:
        option_names: Names of the options of the class.
        training_options: Names of the training-only ones.

    Raises:
        AttributeError: If an option is set after construction.

    Example:

    >>> learner.draws = 32  # AttributeError
    >>> learner.with_options(draws=32).adapt_to(support_x, support_y)
    """

    option_names: tuple[str, ...] = ()
    #: Former names of options, which existing files may still use.
    renamed_options: dict[str, str] = {}
    training_options: frozenset[str] = frozenset()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._compiled_functions: dict[str, Callable] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters = inspect.signature(cls.__init__).parameters.items()
        own = [name for name, parameter in parameters if name not in _NO_OPTIONS and parameter.kind not in _COLLECTED]
        hints = get_type_hints(cls.__init__, include_extras=True)
        cls.option_names = (*own, *(name for name in cls.option_names if name not in own))
        cls.training_options |= {name for name in own if _marked(hints.get(name))}

    def compiled_function(self, name: str, build: Callable[[], Callable]) -> Callable:
        """The compiled function with this name, built at its first use."""
        if name not in self._compiled_functions:
            self._compiled_functions[name] = build()
        return self._compiled_functions[name]

    def forget_compiled(self, *names: str) -> None:
        """Lets these functions be built anew at their next use."""
        for name in names:
            self._compiled_functions.pop(name, None)

    def with_options(self, **options: Any) -> Self:
        """A new model with other options and a copy of the current weights.

        Raises:
            TypeError: The class has no such option.
        """
        config = self.get_config()
        if unknown := options.keys() - config.keys() - self.renamed_options.keys():
            raise TypeError(
                f"The options of {type(self).__name__} are {', '.join(self.option_names)}. Received: {', '.join(sorted(unknown))}"
            )
        twin = type(self).from_config({**config, **options})
        twin.set_weights(self.get_weights())
        return twin

    def get_config(self) -> dict[str, Any]:
        missing = [name for name in self.option_names if not hasattr(self, name)]
        if missing:
            raise ValueError(
                f"Each option of {type(self).__name__} must be an attribute, or the model could not be saved: set self.{missing[0]}. "
                f"Received: no attribute {', '.join(missing)}"
            )
        return {**super().get_config(), **{name: getattr(self, name) for name in self.option_names}}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (*self.option_names, "network") and name in vars(self):
            raise AttributeError(f"Options are fixed at construction; with_options({name}=…) makes a new model. Received: {name}={value}")
        super().__setattr__(name, value)


def _marked(hint: Any) -> bool:
    """Whether a parameter's type says `TRAINING_ONLY`; Python 3.10 makes `Optional[…]` of the type of one whose default is None."""
    inside = get_args(hint) if get_origin(hint) is Union else ()
    return TRAINING_ONLY in getattr(hint, "__metadata__", ()) or any(map(_marked, inside))
