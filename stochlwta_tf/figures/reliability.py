"""The reliability diagram of a classifier: accuracy by confidence."""

from stochlwta_tf.figures import style, titles


def draw(path, form, result):
    """Draws the diagram, and below it how many queries each bin has.

    Args:
        path: The file to write.
        form: `"png"` or `"svg"`.
        result: What `evaluation/reliability.py` finds, with `name`, `learner`, `task`, `tasks` and `protocol`.
    """
    width, colour = result["edges"][1], style.colour(titles.method(result["learner"]["name"]))
    filled = [i for i, count in enumerate(result["count"]) if count]
    left = [result["edges"][i] for i in filled]
    with style.figure(path, form, 1, 2, width=4.6, height=2.6, height_ratios=[3, 1]) as (_, panels):
        top, bottom = panels[:, 0]
        top.bar(left, [result["accuracy"][i] for i in filled], width, align="edge", color=colour, alpha=0.35, edgecolor="white")
        confidence = [result["confidence"][i] for i in filled]
        top.plot(confidence, [result["accuracy"][i] for i in filled], "o-", color=colour, markersize=4, linewidth=1.4, label="the network")
        top.plot([0, 1], [0, 1], color=style.INK, linewidth=0.9, linestyle=(0, (4, 2)), label="perfectly calibrated")
        top.set(ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
        what = f"{titles.run(result)}: {result['tasks']} test tasks"
        style.title(top, f"{what}\nprotocol {result['protocol']}, expected calibration error {result['ece']:.2f} %")
        top.legend(frameon=False, fontsize=8, loc="upper left")
        bottom.bar(left, [result["count"][i] for i in filled], width, align="edge", color=colour, edgecolor="white")
        bottom.set(xlabel="confidence (top probability)", ylabel="queries", xlim=(0, 1), yscale="log", ylim=(0.5, None))
