"""What `pytest -m faults` and `pytest -m badinput` print at their end: how much was tried, and what was lost."""

from collections import Counter

_MARKS = ("faults", "badinput")


def pytest_collection_modifyitems(items):
    """Notes a test's mark among what its report carries, also from another process."""
    for item in items:
        item.user_properties += [("mark", mark) for mark in _MARKS if item.get_closest_marker(mark)]


def pytest_terminal_summary(terminalreporter):
    """A line each for the tests of faults and of bad input, if any have run."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, []) if r.when == "call"]
    faults, bad = ([r for r in reports if ("mark", mark) in map(tuple, r.user_properties)] for mark in _MARKS)
    if faults:
        counts = Counter()
        for report in faults:
            for name, value in report.user_properties:
                if name == "faults":
                    counts[value[0]] += value[1]
        terminalreporter.write_line(
            f"faults: {len(faults)} tests, {counts['kills']} SIGKILLs, {counts['bit_equal']} times resumed bit-equal,"
            f" {counts['one_line']} times ended with one line, {sum(r.failed for r in faults)} lost"
        )
    if bad:
        terminalreporter.write_line(f"bad input: {len(bad)} cases, {sum(r.failed for r in bad)} without their one line")
