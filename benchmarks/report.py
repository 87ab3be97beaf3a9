"""Table and figure of the kept results: `python benchmarks/report.py benchmarks/results/*.json` renews them in benchmarks/README.md."""

import argparse
import json
import pathlib
import sys

from contestants import OURS

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- result -->", "<!-- end of result -->"


def table(entries):
    """The lines of a Markdown table; of each workload, what all contestants do and then a line for each."""
    columns = ["", "CPU ms a task", "CPU time / ours (quartiles)", "wall ms a task", "wall time / ours"]
    columns += ["compile, CPU s", "peak MiB", "GFLOP/s", "of matrix product"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    shown = None
    for e in entries:
        if e["workload"] != shown:
            shown = e["workload"]
            yield f"| **{e['title']}**" + " |" * len(columns)
        name = e["peer"] + (f" ({e['setting']['cpu']})" if e["setting"]["cpu"] else "")
        low, high = e["cpu_ratio_quartiles"]
        ours = e["peer"] == OURS
        cpu_ratio, wall_ratio = ("", "") if ours else (f"**{e['cpu_ratio']:.2f}** ({low:.2f}–{high:.2f})", f"{e['wall_ratio']:.2f}")
        yield (
            f"| {name} | {e['cpu_ms_per_task']:.3g} | {cpu_ratio} | {e['wall_ms_per_task']:.3g} | {wall_ratio} "
            f"| {e['compile_cpu_seconds']:.1f} | {e['peak_mib']:.0f} | {e['gflops_per_cpu_second']:.2g} | {e['matrix_product_share']:.0%} |"
        )


def figure(entries, file):
    """Ratios of processor time, one row for each workload, with quartiles."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"  # the same result gives the same file
    from matplotlib import pyplot

    peers = [p for p in dict.fromkeys(e["peer"] for e in entries) if p != OURS]
    workloads = list(dict.fromkeys(e["workload"] for e in entries))
    axes = pyplot.figure(figsize=(8, 0.34 * len(workloads) + 1.1), layout="constrained").subplots()
    for i, (peer, marker) in enumerate(zip(peers, "osD^v")):
        rows = [e for e in entries if e["peer"] == peer]
        x = [e["cpu_ratio"] for e in rows]
        spread = [
            [e["cpu_ratio"] - e["cpu_ratio_quartiles"][0] for e in rows],
            [e["cpu_ratio_quartiles"][1] - e["cpu_ratio"] for e in rows],
        ]
        y = [workloads.index(e["workload"]) + 0.12 * (i - (len(peers) - 1) / 2) for e in rows]
        axes.errorbar(x, y, xerr=spread, fmt=marker, markersize=5, capsize=2, label=peer)
    axes.axvline(1, color="0.5", linewidth=1)
    axes.set(xscale="log", yticks=range(len(workloads)), yticklabels=workloads, xlabel="processor time of a task, relative to stochlwta_tf")
    axes.margins(y=0.15)
    axes.invert_yaxis()
    axes.grid(axis="x", which="both", linewidth=0.3)
    axes.legend(fontsize="small")
    axes.figure.savefig(file, metadata={"Date": None})


def about(files):
    """The machine, the versions and the files, as lines."""
    entries = [e for file in files for e in read(file)]
    loads = [e["machine"]["load"] for e in entries]
    processor, cores = entries[0]["machine"]["processor"], entries[0]["machine"]["cores"]
    repetitions = " or ".join(map(str, sorted({e["repetitions"] for e in entries})))
    versions = {key: value for e in entries for key, value in e["versions"].items()}
    yield f"{processor}, {cores} cores, load average {min(loads)} to {max(loads)}; {repetitions} repetitions;"
    yield ", ".join(f"{key} {value}" for key, value in versions.items()) + "."
    yield "Files: " + ", ".join(f"[{file.name}](results/{file.name})" for file in files) + "."
    yield ""


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+", help="what compare.py --json wrote")
    files = sorted(parser.parse_args(argv).results)
    entries = [e for file in files for e in read(file)]
    figure(entries, HERE / "results" / "ratios.svg")
    readme = HERE / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    lines = [BEGIN, *about(files), "![Ratios of processor time](results/ratios.svg)", "", *table(entries), END]
    readme.write_text(before + "\n".join(lines) + rest.split(END)[1], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
