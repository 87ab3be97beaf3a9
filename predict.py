"""`python predict.py --run runs/omniglot_5w1s_reptile-seed0 --support FOLDER --query FOLDER`: see `python predict.py --help`."""

import sys

from stochlwta_tf.cli.predict import main

if __name__ == "__main__":
    sys.exit(main())
