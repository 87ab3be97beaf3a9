"""Errors the user can fix: one clear line, no traceback, exit status 2 from the command line."""


class UserError(Exception):
    """The input or the environment is wrong; the message says what, and what is allowed, in one line whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(str(message).splitlines()))


class ConfigurationError(UserError):
    """A configuration key is unknown, has the wrong type or an invalid value."""


class DataError(UserError):
    """Data is missing, damaged, or has too few classes or images for the requested tasks."""


class NonFiniteError(UserError):
    """Training or a test produced NaN or infinity; the message names the term, the iteration and the seed, or the task."""
