"""`python train.py --config configs/sinusoid_default.yaml`: see `python train.py --help`."""

import sys

from stochlwta_tf.cli.train import main

if __name__ == "__main__":
    sys.exit(main())
