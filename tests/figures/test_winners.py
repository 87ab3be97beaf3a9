"""The picture of winners."""

import matplotlib.image
import pytest

from stochlwta_tf.figures import winners as winners_figure


@pytest.mark.parametrize(("layers_of_20", "rows"), [(2, 20), (4, 5), (4, 20)])
def test_the_picture_of_winners_fits_a_screen(tmp_path, layers_of_20, rows):
    layer = {"name": "units", "blocks": 8, "competitors": 2, "unused": 0, "by_class": [[0.5] * 16] * rows, "overall": [0.5] * 16}
    result = {"name": "a", "tasks": 5, "draws": 4, "rows": "class", "layers": [layer] * layers_of_20}
    winners_figure.draw(tmp_path / "a.png", "png", result)
    assert matplotlib.image.imread(tmp_path / "a.png").shape[0] <= 1500
