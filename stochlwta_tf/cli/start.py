"""Starting TensorFlow from the command line, without its start-up chatter."""

import contextlib
import os
import subprocess
import sys

from stochlwta_tf.cli.exit_status import any_console
from stochlwta_tf.errors import UserError
from stochlwta_tf.training import build

# Standard input to standard error, without what TensorFlow says at every start: lines of level INFO and WARNING, which it writes, whatever
# TF_CPP_MIN_LOG_LEVEL is, until its log is initialised, with the announcement of that; and that there is no GPU, or that CUDA's libraries
# are registered twice, at level ERROR.
_FILTER = r"""
import re, sys
chatter = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog|[IW]\d{4} |\d{4}-\d\d-\d\d \S+ [IW] |To enable the following instructions: "
    rb"|(E\d{4}|\d{4}-\d\d-\d\d \S+ E) .*(failed call to cuInit|Unable to register cu\w+ factory)"
)
for line in sys.stdin.buffer:
    if not chatter.match(line):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
"""


def parsed(parser, argv):
    """The arguments of a command line, of a command that may print on any console.

    An empty argument is an error: `--out "$UNSET"` is not a wish for the default.

    Example:

        parsed(parser, ["--config", "a.yaml"])
    """
    any_console()  # before the parser, whose help has characters that some consoles lack
    arguments = parser.parse_args(argv)
    for name, value in vars(arguments).items():
        if value == "" or (isinstance(value, list) and "" in value):
            parser.error(f"--{name} must not be empty")
    return arguments


def tensorflow():
    """Loads TensorFlow and lets it look for GPUs; what it says at level ERROR is shown, and all of it with TF_CPP_MIN_LOG_LEVEL=0.

    A command calls it when it has looked at all that can be wrong without TensorFlow.

    Raises:
        UserError: Keras is to have another backend than TensorFlow.
    """
    if "tensorflow" in sys.modules:
        return
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":  # which may not even be installed
        raise UserError(f"KERAS_BACKEND must be tensorflow. Received: KERAS_BACKEND={backend}.")
    os.environ["MPLBACKEND"] = "agg"  # figures go to files; a notebook's backend in the environment may not be installed here
    os.environ.setdefault("XLA_FLAGS", build.XLA_FLAGS)  # read with the first look for devices
    everything = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2") == "0"
    with contextlib.nullcontext() if everything else _filtered():
        import tensorflow as tf

        import stochlwta_tf.learners  # noqa: F401  and Keras, which may say something too

        tf.config.list_physical_devices("GPU")


@contextlib.contextmanager
def _filtered():
    """Sends standard error, of C++ too, through a process that outlives this one should TensorFlow end it with a last word."""
    try:
        terminal = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    # In a separate session: Ctrl-C is for the command, not for the filter.
    command = [sys.executable, "-I", "-S", "-c", _FILTER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    sys.stderr.flush()
    os.dup2(process.stdin.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)
        process.stdin.close()
        process.wait()
