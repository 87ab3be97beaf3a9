"""From a configuration to a trained model: building, the run folder, the training loop and what it records."""
