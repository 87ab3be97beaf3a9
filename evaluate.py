"""`python evaluate.py --run runs/sinusoid_default-seed0`: see `python evaluate.py --help`."""

import sys

from stochlwta_tf.cli.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
