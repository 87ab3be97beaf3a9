"""Text is read and written in UTF-8 everywhere, whatever the machine's locale is."""

import ast

from tests.helpers import REPOSITORY

#: Functions and methods that use the locale's encoding unless they are given one, and the place of `mode` among their arguments.
_TEXT = {"read_text": None, "write_text": None, "open": 0, "NamedTemporaryFile": 0, "TemporaryFile": 0}
_OTHERS = {("zipfile", "ZipFile"), ("os", "open"), ("os", "fdopen"), ("Image", "open"), ("urllib.request", "urlopen")}


def without_encoding(tree, own=()):
    """The lines of calls that would use the locale's encoding."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name, owner = getattr(call.func, "attr", getattr(call.func, "id", None)), ast.unparse(getattr(call.func, "value", call.func))
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        if "text" in named or "universal_newlines" in named:  # of subprocess
            yield from [call.lineno] * ("encoding" not in named)
        if name not in _TEXT or (owner, name) in _OTHERS or name in own:
            continue
        place = 1 if isinstance(call.func, ast.Name) else _TEXT[name]
        modes = [named["mode"]] if "mode" in named else call.args[place : place + 1] if place is not None else []
        binary = modes and isinstance(modes[0], ast.Constant) and "b" in str(modes[0].value)
        default = name.endswith("TemporaryFile") and not modes  # which is binary
        if not binary and not default and "encoding" not in named:
            yield call.lineno


def test_no_text_depends_on_the_locale():
    found = []
    for path in [*(REPOSITORY / "stochlwta_tf").rglob("*.py"), *REPOSITORY.glob("*.py"), *(REPOSITORY / "benchmarks").rglob("*.py")]:
        # `write_text` is a function of `run_folder` too, which writes UTF-8.
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        own |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        found += [f"{path.name}:{line}" for line in without_encoding(tree, own)]
    assert found == []


def test_what_would_depend_on_it_is_found():
    program = """
path.read_text()
path.read_text(encoding="utf-8")
open(path)
open(path, "rb")
path.open("w")
path.open("wb")
subprocess.run(command, text=True)
Image.open(path)
"""
    assert list(without_encoding(ast.parse(program))) == [2, 4, 6, 8]
