"""Packaging of stochlwta_tf."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "stochlwta_tf" / "__init__.py").read_text()).group(1)

setup(
    name="stochlwta-tf",
    version=VERSION,
    description="Stochastic networks with linear competing units for model-agnostic meta-learning, in TensorFlow and Keras",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.10",
    packages=find_packages(include=["stochlwta_tf", "stochlwta_tf.*"]),
    package_data={"stochlwta_tf": ["report/*.yaml", "tasks/*.yaml"]},
    install_requires=[
        "tensorflow>=2.18",
        "keras>=3.8",
        "tensorboard>=2.18",
        "tensorflow-probability>=0.25",
        "tf_keras>=2.18",  # TensorFlow Probability imports it
        "tensorflow-datasets>=4.9.7",
        "importlib_resources>=6",  # tensorflow-datasets imports it, without declaring it
        "numpy>=2",
        "pyyaml>=6",
        "pydantic>=2.7",
        "matplotlib>=3.9",
        "pillow>=11",
        "rich>=13",
        "filelock>=3.12",
    ],
    extras_require={
        "cuda": ["tensorflow[and-cuda]>=2.18"],
        "test": ["pytest>=8", "scipy>=1.11", "ruff>=0.9"],
        "bench": ["scipy>=1.11"],
    },
    entry_points={
        "console_scripts": [
            "stochlwta-train = stochlwta_tf.cli.train:main",
            "stochlwta-evaluate = stochlwta_tf.cli.evaluate:main",
        ]
    },
)
