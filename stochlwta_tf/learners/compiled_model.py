"""A Keras model with compiled functions of its own, and options that are set once."""

import inspect

import keras


class CompiledModel(keras.Model):
    """Base of `MetaLearner`: what is compiled, or made in construction, holds the options of then, so these do not change.

    Its options are the arguments of its class and of the bases of that.

    Raises:
        AttributeError: If an option is set after construction.

    Example:

    >>> learner.draws = 32  # AttributeError
    >>> learner.with_options(draws=32).adapt_to(support_x, support_y)
    """

    _set_once = frozenset()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._compiled_functions = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._set_once |= frozenset(inspect.signature(cls.__init__).parameters) - {"self", "kwargs"}

    def compiled_function(self, name, build):
        """The compiled function of that name, built at its first use."""
        if name not in self._compiled_functions:
            self._compiled_functions[name] = build()
        return self._compiled_functions[name]

    def with_options(self, **options):
        """A model with other options, and the weights of this one at this moment."""
        twin = type(self).from_config({**self.get_config(), **options})
        twin.set_weights(self.get_weights())
        return twin

    def __setattr__(self, name, value):
        if name in self._set_once and name in vars(self):
            raise AttributeError(f"Options are fixed in construction; with_options({name}=…) makes a new model. Received: {name}={value}")
        super().__setattr__(name, value)
