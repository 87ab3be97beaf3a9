"""A Keras model with compiled functions of its own, and options that are declared once and set once."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import keras
from typing_extensions import Self

#: In the annotation of an option: it has no part in adapting to a task and predicting, so that a test cannot override it.
TRAINING_ONLY = "training only"
_NO_OPTIONS = {"self", "network", "kwargs"}
#: Options by a name that they had before, as files may still have them.
RENAMED_OPTIONS = {"saturation": "probability_clip", "meta_loss": "meta_objective"}


class CompiledModel(keras.Model):
    """Base of `MetaLearner`: what is compiled, or made in construction, holds the options of that moment, so these do not change.

    The options are the arguments of a class and of its bases, but for `network` and `kwargs`; each is also an attribute.  The signature
    is where they are declared: the configuration reads types, bounds and defaults from it, and `get_config`, which options are fixed and
    which are of training only (`Annotated[..., TRAINING_ONLY]`) follow.

    Attributes:
        option_names: Names of the options of the class.
        training_options: Names of those that are of training only.

    Raises:
        AttributeError: If an option is set after construction.

    Example:

    >>> learner.draws = 32  # AttributeError
    >>> learner.with_options(draws=32).adapt_to(support_x, support_y)
    """

    option_names: tuple[str, ...] = ()
    training_options: frozenset[str] = frozenset()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._compiled_functions: dict[str, Callable] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = [name for name in inspect.signature(cls.__init__).parameters if name not in _NO_OPTIONS]
        hints = get_type_hints(cls.__init__, include_extras=True)
        cls.option_names = (*own, *(name for name in cls.option_names if name not in own))
        cls.training_options |= {name for name in own if TRAINING_ONLY in getattr(hints.get(name), "__metadata__", ())}

    def compiled_function(self, name: str, build: Callable[[], Callable]) -> Callable:
        """The compiled function of that name, built at its first use."""
        if name not in self._compiled_functions:
            self._compiled_functions[name] = build()
        return self._compiled_functions[name]

    def with_options(self, **options: Any) -> Self:
        """A model with other options, and the weights of this one at this moment."""
        twin = type(self).from_config({**self.get_config(), **options})
        twin.set_weights(self.get_weights())
        return twin

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **{name: getattr(self, name) for name in self.option_names}}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (*self.option_names, "network") and name in vars(self):
            raise AttributeError(f"Options are fixed in construction; with_options({name}=…) makes a new model. Received: {name}={value}")
        super().__setattr__(name, value)
