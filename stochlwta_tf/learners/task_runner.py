"""Many tasks at once: two ways to map a function of one task over a batch, behind one interface."""

import tensorflow as tf

from stochlwta_tf.tasks.task import Task


class TaskRunner:
    """Compiles a pure function of one task into one of a batch of tasks.

    - `vectorized`: `tf.vectorized_map` inside one XLA program. For dense networks on any device.
    - loop: one `tf.while_loop` over the tasks, without XLA on a CPU. For networks with convolutions, whose per-task kernels
      cannot be vectorised, and which XLA runs 10 to 25 times slower on a CPU.

    A batch gives the same numbers as its tasks one at a time, because all noise comes from the task's own key.

    Args:
        vectorized: Which of the two.
        xla: Whether to compile with XLA.
        parallel_tasks: Tasks that a loop may have under way at once; more take more memory and gain little.
    """

    def __init__(self, vectorized, xla, parallel_tasks=2):
        self.vectorized = vectorized
        self.xla = xla
        self.parallel_tasks = parallel_tasks
        if not vectorized:
            # Grappler rewrites large sums to accumulate in order of arrival, so that repeats of one step differ in their last bits, and
            # it breaks the gradient of a loop within a loop. There is no per-function switch.
            tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

    @classmethod
    def for_network(cls, network, runner="auto", parallel_tasks=2):
        """The runner for a network: `"vectorized"`, `"loop"`, or `"auto"`: a loop if and only if the network has convolutions."""
        convolutional = has_convolution(network)
        vectorized = not convolutional if runner == "auto" else runner == "vectorized"
        on_cpu = not tf.config.list_physical_devices("GPU")
        return cls(vectorized, xla=not (convolutional and on_cpu), parallel_tasks=parallel_tasks)

    def map(self, function):
        """A compiled `f(weights, state, tasks)` that stacks the results of `function(weights, state, task)`."""

        def batched(weights, state, tasks):
            def one(fields):
                # Copies of the weights: a gradient taken inside the function is then the task's own, not the batch's.
                return function([tf.identity(w) for w in weights], state, Task(*fields))

            if self.vectorized:
                return tf.vectorized_map(one, tuple(tasks), fallback_to_while_loop=False)
            signature = tf.function(one, autograph=False).get_concrete_function(tuple(tf.TensorSpec(t.shape[1:], t.dtype) for t in tasks))
            return tf.map_fn(
                one,
                tuple(tasks),
                fn_output_signature=tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), signature.structured_outputs),
                parallel_iterations=self.parallel_tasks,
            )

        return tf.function(batched, jit_compile=self.xla, autograph=False)

    def mean(self, function):
        """A compiled `f(weights, state, tasks)`: the mean over tasks of `function(weights, state, task)`.

        `function` returns `(meta_gradient, (loss, score))`: a list shaped like `weights`, and two scalars.
        """
        if self.vectorized:
            each = self.map(function).python_function

            def batched(weights, state, tasks):
                return tf.nest.map_structure(lambda t: tf.reduce_mean(t, 0), each(weights, state, tasks))
        else:

            def batched(weights, state, tasks):
                count = tasks.key.shape[0]

                def body(i, total):
                    result = function([tf.identity(w) for w in weights], state, Task(*(tf.gather(t, i) for t in tasks)))
                    return i + 1, tf.nest.map_structure(tf.add, total, result)

                zero = tf.zeros([], weights[0].dtype)
                total = ([tf.zeros_like(w) for w in weights], (zero, zero))
                _, total = tf.while_loop(
                    lambda i, _: i < count, body, (0, total), maximum_iterations=count, parallel_iterations=self.parallel_tasks
                )
                return tf.nest.map_structure(lambda t: t / tf.cast(count, t.dtype), total)

        return tf.function(batched, jit_compile=self.xla, autograph=False)


def has_convolution(network):
    """Whether any kernel of a network has spatial axes."""
    return any(len(v.shape) > 2 for v in network.trainable_variables)
