"""mini-ImageNet as a data set of TensorFlow Datasets, from a manual directory in any of the layouts of `miniimagenet_layouts`.

`MiniImageNet` does not need it: it reads the same layouts straight into its cache.  This is for other programs that work with tfds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from stochlwta_tf.tasks import miniimagenet_layouts as layouts
from stochlwta_tf.tasks.class_lists import class_list
from stochlwta_tf.tasks.decoding import in_parallel


class MiniImageNetBuilder(tfds.core.GeneratorBasedBuilder):
    """Splits train, validation and test with features `image` (84x84x3), `label` (WordNet numbers) and `file_name`.

    Images are stored as PNG, so that they are pixel for pixel those of `MiniImageNet`.

    Example:

    >>> import stochlwta_tf.tasks.miniimagenet_builder  # registers it
    >>> builder = tfds.builder("miniimagenet")
    >>> builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="data/miniimagenet"))
    """

    name = "miniimagenet"
    VERSION = tfds.core.Version("1.0.0")
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"The manual directory, or miniimagenet/ in it, must hold {layouts.EXPECTED}."

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(shape=(layouts.SIZE, layouts.SIZE, 3), encoding_format="png"),
                    "label": tfds.features.ClassLabel(names=[wnid for split in class_list("miniimagenet").values() for wnid in split]),
                    "file_name": tfds.features.Text(),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="https://arxiv.org/abs/1606.04080",
            description="100 classes of 600 images of ImageNet, in the splits of Ravi & Larochelle 2017; non-commercial research only.",
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator]:
        manual = Path(dl_manager.manual_dir)
        own = manual / self.name
        layout = layouts.find(own if own.is_dir() else manual)
        return {split: self._generate_examples(layout, split) for split in layouts.SPLIT_FILES}

    def _generate_examples(self, layout: layouts.Layout, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        examples = layout.examples(split)
        pixels = in_parallel(lambda example: example.read(), examples, f"mini-ImageNet, {split}")
        for number, (example, image) in enumerate(zip(examples, pixels, strict=True)):
            yield number, {"image": image, "label": example.label, "file_name": example.file}
