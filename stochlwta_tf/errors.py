"""Errors that are a user's to mend: one clear line, no traceback, exit status 2 from the command line."""


class UserError(Exception):
    """Something outside the program is wrong; the message says what, and what would be right."""


class ConfigurationError(UserError):
    """A configuration key is unknown, has the wrong type, or an impossible value."""


class DataError(UserError):
    """Data is missing, damaged, or has too few classes or images for the task asked of it."""


class NonFiniteError(UserError):
    """Training or a test met NaN or infinity; the message names the term, the iteration and the seed, or the task."""
