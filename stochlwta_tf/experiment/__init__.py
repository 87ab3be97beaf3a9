"""From a YAML file to a trained, evaluated, saved run: configuration, run folder, training, evaluation, metrics."""
