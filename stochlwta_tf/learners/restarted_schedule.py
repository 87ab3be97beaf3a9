"""A learning-rate schedule that begins in the middle of a training."""

import keras


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class RestartedSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule whose step 0 is a later iteration: rate(i) = schedule(i − start).

    Args:
        schedule: A Keras schedule.
        start: The iteration at which it begins.

    Example:

    >>> schedule = RestartedSchedule(keras.optimizers.schedules.PolynomialDecay(0.1, 100, 0.0), start=1000)
    >>> float(schedule(1050))
    0.05
    """

    def __init__(self, schedule, start):
        self.schedule, self.start = schedule, start

    def __call__(self, step):
        return self.schedule(keras.ops.maximum(step - self.start, 0))

    def get_config(self):
        return {"schedule": keras.saving.serialize_keras_object(self.schedule), "start": self.start}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["schedule"]), config["start"])
