"""The memory that a process has taken at most."""

import sys

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def peak_memory() -> int | None:
    """Most memory that this process has had resident until now, in MiB; None where the system does not say.

    Example:

    >>> peak_memory() > 1
    True
    """
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))  # macOS counts bytes, Linux KiB
