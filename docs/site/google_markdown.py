"""Our docstrings for Sphinx: Google's sections with Markdown's code blocks, and signatures without bounds and types."""

import inspect
import re


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}


def process(app, what, name, obj, options, lines):
    """Marks indented blocks as code, and what Markdown and reStructuredText read differently within lines."""
    marked, code = [], False
    for line in lines:
        inside, after_blank = line.startswith("    "), not (marked and marked[-1].strip())
        if inside and not code and after_blank and _is_text(marked):
            marked += [".. code-block:: text", ""]
            code = True
        elif line.strip() and not inside:
            code = False
        marked.append(line if code else _inline(line))
    lines[:] = marked


def _is_text(lines):
    """Whether the last line with content belongs to running text, not to a section."""
    written = [line for line in lines if line.strip()]
    return bool(written) and not written[-1].startswith(" ")


def _inline(line):
    if line == "Returns:":
        return ":returns:"  # napoleon would read what stands before a colon as a type, of which ours have none
    if line.lstrip().startswith(">>>"):
        return line
    line = re.sub(r"(?<!`)`([A-Z]\w+)`(?!`)", r"`.\1`", line)  # `MAML`, in whichever module it is
    line = re.sub(r"(?<!`)(`[^`]+`)(?=\w)", r"\1\\ ", line)  # `Task`s
    line = re.sub(r"^( +\w+: )([A-Z]\.)$", r"\1\\\2", line)  # "draws: B." is no list
    return line if "`" in line else line.replace("|", r"\|")


def signature(app, what, name, obj, options, given, returned):
    """The names and defaults of a class's arguments, which Keras's metaclass hides, without `self` and types."""
    if what != "class" or "__init__" not in vars(obj):
        return None
    arguments = list(inspect.signature(obj.__init__).parameters.values())[1:]
    return str(inspect.Signature([a.replace(annotation=a.empty) for a in arguments])), None


def skip(app, what, name, obj, skipped, options):
    """The fields of a named tuple are described in its docstring."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None
