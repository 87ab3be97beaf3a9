"""The picture of an LWTA network's winners: how often each unit wins, by class and layer."""

import numpy as np

from stochlwta_tf.figures import style, titles

_HIGHEST = 9  # inches


def draw(path, form, result):
    """Draws for each layer the frequencies by class in the first test task, and below them those over all tasks.

    Args:
        path: The file to write.
        form: `"png"` or `"svg"`.
        result: What `evaluate.py --winners` writes, a dictionary.
    """
    layers = result["layers"]
    rows = len(layers[0]["by_class"])
    inches = [0.09 * max(rows, 4) + 0.55, 0.85]  # of a layer's two panels, with their titles and labels
    ratios = inches * len(layers)
    units = max(layer["blocks"] * layer["competitors"] for layer in layers)
    size = {"width": float(np.clip(0.17 * units + 1.8, 6.5, 16)), "height": min(sum(ratios) + 0.3, _HIGHEST) / len(ratios)}
    with style.figure(path, form, 1, 2 * len(layers), height_ratios=ratios, **size) as (drawn, panels):
        for layer, above, below in zip(layers, panels[::2, 0], panels[1::2, 0], strict=True):
            n, j = layer["blocks"] * layer["competitors"], layer["competitors"]
            values = np.array(layer["by_class"], float)
            image = above.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=(0, n, rows, 0))
            above.vlines(np.arange(0, n + 1, j), 0, rows, color=style.INK, linewidth=0.8)
            above.set_yticks(np.arange(rows) + 0.5, range(rows), fontsize=7 if rows <= 12 else 5)
            above.set(ylabel=result["rows"].replace(" of", "\nof"), xticks=[])
            note = f"{layer['blocks']} blocks of {j}, {layer['unused']} of {n} units never win"
            style.title(above, f"{layer['name']}: {note}; first test task")
            below.bar(np.arange(n) + 0.5, layer["overall"], 0.85, color=[style.BLUE, "#7fa8d6"][:j] * (n // 2) if j == 2 else style.BLUE)
            below.vlines(np.arange(0, n + 1, j), 0, 1, color=style.INK, linewidth=0.8)
            below.axhline(1 / j, color=style.INK, linewidth=0.8, linestyle=(0, (2, 2)))
            below.set(xlim=(0, n), ylim=(0, 1), xticks=[], ylabel="all\ntasks", xlabel="units, by block (dotted: chance)")
        drawn.colorbar(image, ax=list(panels[:, 0]), label="how often the unit wins", shrink=0.6)
        style.heading(drawn, f"{titles.run(result)}: winners on {result['tasks']} test tasks, {result['draws']} draws")
