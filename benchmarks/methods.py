"""The learners and networks of the comparison as pure functions of one task, for JAX and torch.func alike.

They are written a second time, from the equations (docs/method.md and docs/baselines.md), in the operations that a peer provides: `lib` has
`grad` (of a scalar function, with respect to its first argument), `stop_gradient`, `split` (noise keys), `normal`, `gumbel` and the
elementwise functions of its library. Weights are a list in the order of the package's.
"""

import math


class Method:
    """A configuration's learner on one task.

    Args:
        lib: The operations, see above.
        spec: What `peers/package.py` writes about the workload: its resolved configuration, shapes and names of weights.
    """

    def __init__(self, lib, spec):
        self.lib = lib
        self.network, self.learner = spec["config"]["network"], spec["config"]["learner"]
        self.kind, self.shape = spec["kind"], spec["input_shape"]
        self.rhos = [name.endswith("/rho") for name in spec["weights"]]
        self.predict_steps = self.learner.get("test_inner_steps")
        if self.predict_steps is None:
            self.predict_steps = self.learner["inner_steps"]

    # The network.

    def outputs(self, weights, x, key, hard=False):
        """The network's outputs, and the KL divergence of its winners times its weight."""
        lib, network, weights = self.lib, self.network, iter(weights)
        kl = 0.0
        convolutional = network["name"] == "conv4"
        if network.get("input_scale"):
            x = lib.relu(x * (next(weights) / math.sqrt(1.001)) + next(weights))
        if network.get("max_pool"):
            height, width, channels = self.shape
            x = x.reshape(x.shape[0], height // 2, 2, width // 2, 2, channels)
            x = lib.maximum(lib.maximum(x[:, :, 0, :, 0], x[:, :, 0, :, 1]), lib.maximum(x[:, :, 1, :, 0], x[:, :, 1, :, 1]))
            x = x.reshape(x.shape[0], -1)
        hidden = 4 if convolutional else len(network["units"] if network["name"] == "mlp" else network["blocks"])
        for _ in range(hidden):
            key, kernel_key, winner_key = lib.split(key, 3)
            kernel = self.kernel(weights, kernel_key)
            if convolutional:
                stride = 2 if network["downsampling"] == "stride" else 1
                x = lib.conv(x, kernel, stride) + lib.channels(next(weights))
                gamma = next(weights) if network["batch_norm_scale"] else 1.0
                x = self.normalized(x, gamma, next(weights))
                x = x if stride == 2 else lib.pool(x)
            else:
                x = x @ kernel + next(weights)
            if network["activation"] == "stochastic_lwta":
                x, winners_kl = self.compete(x, winner_key, hard)
                kl = kl + winners_kl
            else:
                x = lib.relu(x)
        if convolutional:
            x = lib.flatten(x)
        return x @ self.kernel(weights, key) + next(weights), kl

    def kernel(self, weights, key):
        mean = next(weights)
        if self.network["weights"] == "point":
            return mean
        std = self.lib.softplus(next(weights))
        return mean + std * self.lib.normal(key, mean.shape)

    def normalized(self, x, gamma, beta):
        lib = self.lib
        axes = tuple(axis for axis in range(4) if axis != lib.channel_axis % 4)
        mean = x.mean(axes)
        centred = x - lib.channels(mean)
        variance = (centred * centred).mean(axes)
        factor = gamma / lib.sqrt(variance + 1e-3)
        return x * lib.channels(factor) + lib.channels(beta - mean * factor)

    def compete(self, x, key, hard):
        """Stochastic LWTA, and its KL term."""
        lib, competitors = self.lib, self.network["competitors"]
        shape, axis = tuple(x.shape), lib.channel_axis % len(x.shape)
        h = x.reshape(*shape[:axis], shape[axis] // competitors, competitors, *shape[axis + 1 :])
        perturbed = h + lib.gumbel(key, h.shape)
        winners = lib.one_winner(perturbed, axis + 1) if hard else lib.softmax(perturbed / self.network["temperature"], axis + 1)
        kl = 0.0
        if self.network["winners_kl_weight"]:
            log_q = lib.log_softmax(h, axis + 1)
            kl = self.network["winners_kl_weight"] * (lib.exp(log_q) * (log_q + math.log(competitors))).sum()
        return (winners * h).reshape(shape), kl

    def nll(self, outputs, y):
        """Of each example."""
        if self.kind == "classification":
            return self.lib.cross_entropy(outputs, y)
        std = self.learner["noise_std"]
        error = (y - outputs) / std
        return (0.5 * error * error + math.log(std) + 0.5 * math.log(2 * math.pi)).sum(-1)

    def loss(self, weights, x, y, key, reduction=None):
        outputs, kl = self.outputs(weights, x, key)
        nll = self.nll(outputs, y)
        return (nll.sum() if (reduction or self.learner["inner_loss"]) == "sum" else nll.mean()) + kl

    # One task: the meta-gradient, and predictions.

    def meta_gradient(self, psi, task, key):
        """Of one task, with respect to psi, a list: the network's weights, then what else the learner learns."""
        if self.learner["name"] in ("reptile", "stochlwta"):
            adapted = self.adapted(psi, *task[:2], key, self.learner["inner_steps"])
            return [p - a for p, a in zip(psi, adapted)]
        return self.lib.grad(getattr(self, "meta_loss_of_" + self.learner["name"]))(psi, task, key)

    def predict(self, weights, support_x, support_y, query_x, key):
        """B draws of the outputs, a list."""
        key, *draws = self.lib.split(key, 1 + (self.learner["draws"] or 1))
        adapted = self.adapted(weights, support_x, support_y, key, self.predict_steps)
        return [self.outputs(adapted, query_x, draw, hard=True)[0] for draw in draws]

    def adapted(self, weights, x, y, key, steps, first_order=False):
        for step_key in self.lib.split(key, steps):
            gradient = self.lib.grad(self.loss)(weights, x, y, step_key)
            if first_order:
                gradient = [self.lib.stop_gradient(g) for g in gradient]
            weights = self.step(weights, gradient)
        return weights

    def step(self, weights, gradient):
        lib, rate, clip = self.lib, self.learner["inner_lr"], self.learner["inner_clip_norm"]
        if clip is not None:
            norm = lib.sqrt(lib.maximum(sum((g * g).sum() for g in gradient), lib.full_like(gradient[0].sum(), 1e-30)))
            rate = rate * clip / lib.maximum(norm, lib.full_like(norm, clip))
        stepped = [w - rate * g for w, g in zip(weights, gradient)]
        least = self.network["rho_min"]
        return [lib.maximum(w, lib.full_like(w, least)) if is_rho else w for w, is_rho in zip(stepped, self.rhos)]

    def meta_loss_of_maml(self, psi, task, key, first_order=False):
        support_x, support_y, query_x, query_y = task
        key, query_key = self.lib.split(key, 2)
        weights = self.adapted(psi, support_x, support_y, key, self.learner["inner_steps"], first_order)
        return self.loss(weights, query_x, query_y, query_key, "mean")

    def meta_loss_of_fomaml(self, psi, task, key):
        return self.meta_loss_of_maml(psi, task, key, first_order=True)

    def joint_nll(self, weights, task, key):
        """Of the support set and the queries."""
        support_x, support_y, query_x, query_y = task
        keys = self.lib.split(key, 2)
        return self.lib.concat(
            [
                self.nll(self.outputs(weights, support_x, keys[0])[0], support_y),
                self.nll(self.outputs(weights, query_x, keys[1])[0], query_y),
            ]
        )

    def sampled(self, means, stds, key):
        return [m + s * self.lib.normal(k, m.shape) for m, s, k in zip(means, stds, self.lib.split(key, len(means)))]

    def meta_loss_of_abml(self, psi, task, key):
        lib, learner = self.lib, self.learner
        count = len(psi) // 2
        theta_mu, theta_rho = psi[:count], psi[count:]

        def stds(rho):
            return [lib.softplus(r) + learner["min_std"] for r in rho]

        def expected(posterior, negative_log_likelihood, key):
            mu, rho = posterior[:count], posterior[count:]
            keys = lib.split(key, learner["train_draws"])
            nll = sum(negative_log_likelihood(self.sampled(mu, stds(rho), k), k) for k in keys) / len(keys)
            return nll + learner["kl_weight"] * normal_kl(lib, mu, stds(rho), theta_mu, stds(theta_rho))

        def inner(posterior, key):
            return expected(posterior, lambda weights, k: self.loss(weights, *task[:2], k), key)

        posterior = psi
        *keys, last = lib.split(key, learner["inner_steps"] + 1)
        for step_key in keys:
            posterior = [p - learner["inner_lr"] * g for p, g in zip(posterior, lib.grad(inner)(posterior, step_key))]
        loss = expected(posterior, lambda weights, k: self.joint_nll(weights, task, k).mean(), last)
        hyperprior = sum((-0.5 * m * m - 0.5 * math.log(2 * math.pi)).sum() for m in theta_mu)
        hyperprior = hyperprior + sum((math.log(0.01) - 0.01 / (s * s)).sum() for s in stds(theta_rho))
        return loss - hyperprior / learner["training_tasks"]

    def meta_loss_of_platipus(self, psi, task, key):
        lib, learner = self.lib, self.learner
        count = len(psi) // 5
        mu, log_sigma2, log_vq, log_gamma_p, log_gamma_q = (psi[i * count : (i + 1) * count] for i in range(5))
        support_x, support_y, query_x, query_y = task
        prior_key, posterior_key, sample_key, key, last = lib.split(key, 5)

        def stds(log_variances):
            return [lib.exp(0.5 * v) + learner["min_std"] for v in log_variances]

        def means(x, y, log_rates, key):
            return [m - lib.exp(r) * g for m, r, g in zip(mu, log_rates, lib.grad(self.loss)(mu, x, y, key))]

        prior = means(support_x, support_y, log_gamma_p, prior_key), stds(log_sigma2)
        posterior = means(query_x, query_y, log_gamma_q, posterior_key), stds(log_vq)
        weights = self.adapted(self.sampled(*posterior, sample_key), support_x, support_y, key, learner["inner_steps"])
        return self.loss(weights, query_x, query_y, last, "mean") + learner["kl_weight"] * normal_kl(lib, *posterior, *prior)

    def meta_loss_of_bmaml(self, psi, task, key):
        lib, learner = self.lib, self.learner
        count = len(psi) // 2
        particles = [lib.concat([first[None], others]) for first, others in zip(psi[:count], psi[count:])]

        def stein_step(particles, loss, key):
            gradients = lib.each(lambda weights: lib.grad(loss)(weights, key))(particles)
            phi = stein_direction(lib, particles, gradients)
            return [p + learner["inner_lr"] * d for p, d in zip(particles, phi)]

        def joint(weights, key):
            return self.joint_nll(weights, task, key).sum()

        *keys, last = lib.split(key, learner["inner_steps"] + 1)
        for step_key in keys:
            particles = stein_step(particles, lambda weights, k: self.loss(weights, *task[:2], k), step_key)
        leader = particles
        for leader_key in lib.split(last, learner["leader_steps"]):
            leader = stein_step(leader, joint, leader_key)
        return sum(((p - lib.stop_gradient(q)) ** 2).sum() for p, q in zip(particles, leader))


def normal_kl(lib, means, stds, other_means, other_stds):
    """KL[N(means, stds²) || N(other_means, other_stds²)], summed."""
    terms = []
    for mean, std, other_mean, other_std in zip(means, stds, other_means, other_stds):
        ratio, distance = std / other_std, (mean - other_mean) / other_std
        terms.append((0.5 * (ratio * ratio + distance * distance - 1) - lib.log(ratio)).sum())
    return sum(terms)


def stein_direction(lib, particles, gradients):
    """phi of Stein variational gradient descent, from the gradients of −log p, as lists of the weights of all particles."""
    number = particles[0].shape[0]
    rows = lib.concat([p.reshape(number, -1) for p in particles], 1)
    slopes = -lib.concat([g.reshape(number, -1) for g in gradients], 1)
    difference = rows[:, None] - rows[None]
    squares = (difference * difference).sum(-1)
    pairs = [squares[i, j] for i in range(number) for j in range(i)]
    ordered = lib.sort(lib.stop_gradient(lib.stack(pairs)))
    middle = len(pairs) // 2
    median = lib.sqrt(ordered[middle]) if len(pairs) % 2 else 0.5 * (lib.sqrt(ordered[middle - 1]) + lib.sqrt(ordered[middle]))
    h = median * median / math.log(number)
    kernel = lib.exp(-squares / h)
    phi = (kernel.T @ slopes - 2 / h * (kernel[:, :, None] * difference).sum(0)) / number
    directions, start = [], 0
    for p in particles:
        size = math.prod(p.shape[1:])
        directions.append(phi[:, start : start + size].reshape(p.shape))
        start += size
    return directions
