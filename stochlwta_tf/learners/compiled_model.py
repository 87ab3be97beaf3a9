"""A Keras model with compiled functions of its own, and options that are fixed once one of them was compiled."""

import keras


class CompiledModel(keras.Model):
    """Base of `MetaLearner`: a compiled function holds the options of when it was traced, so these do not change under it.

    Its options are the keys of `get_config`.

    Raises:
        AttributeError: If an option is set after the first use.

    Example:

    >>> learner.adapt_to(support_x, support_y)
    >>> learner.draws = 32  # AttributeError
    >>> learner.with_options(draws=32).adapt_to(support_x, support_y)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._compiled_functions = {}
        self._fixed = frozenset()

    def compiled_function(self, name, build):
        """The compiled function of that name, built at its first use."""
        if name not in self._compiled_functions:
            self._fixed = frozenset(self.get_config()) - {"name", "trainable", "dtype"}
            self._compiled_functions[name] = build()
        return self._compiled_functions[name]

    def with_options(self, **options):
        """A model with other options, and the weights of this one at this moment."""
        twin = type(self).from_config({**self.get_config(), **options})
        twin.set_weights(self.get_weights())
        return twin

    def __setattr__(self, name, value):
        if name in getattr(self, "_fixed", ()):
            raise AttributeError(
                f"Options are fixed after the first use; with_options({name}=…) makes a new model. Received: {name}={value}"
            )
        super().__setattr__(name, value)
