"""What a result says of the learner that was tested, beside the numbers."""

from stochlwta_tf.experiment.run_folder import command, device_name


def described(config, learner):
    """Under what protocol, how trained and how tested, as the entries of a result's file.

    Args:
        config: The run's `Configuration`.
        learner: The tested `MetaLearner`.
    """
    from stochlwta_tf.layers import BatchNormalization

    resolved = config.resolved()
    options = {key: value for key, value in learner.get_config().items() if key in resolved["learner"] and key != "name"}
    normalized = any(isinstance(layer, BatchNormalization) for layer in learner.network.layers)
    return {
        "protocol": config.protocol,
        "batch_statistics": learner.batch_statistics if normalized else None,
        "iterations": config.training.iterations,
        "seed": config.seed,
        "task": resolved["task"],
        "learner": {"name": config.learner.name, **options},
        "inner_steps": learner.steps_at_test,
        "draws": learner.draws,
        "device": device_name(),
        "command": command(),
    }
