"""Analyse a survey: do two groups differ, how are scores distributed, what predicts them?

Data are simulated: ages, incomes and scores of two groups. Groups are compared by a
permutation test and a bootstrap, densities are estimated with kernels, a logistic
regression is fitted by gradient descent, and a posterior is sampled on a grid.

    python survey_statistics.py --people 4000 --resamples 200
"""

import argparse
import csv
import io
import math
import time

import numpy as np

# ---------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------


def simulate_survey(people, rng):
    """Rows of a survey, as they would come from a file."""
    group = rng.integers(0, 2, people)
    age = rng.normal(45, 12, people).clip(18, 90)
    income = np.exp(rng.normal(10, 0.5, people))
    score = 50 + 2.5 * group + 0.1 * age + rng.normal(0, 9, people)
    passed = rng.random(people) < 1 / (1 + np.exp(-(score - 56) / 6))
    return group, age, income, score, passed


def to_text(columns, limit=200):
    """Write some rows as CSV, as a file that is read back would have."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["group", "age", "income", "score", "passed"])
    for row in list(zip(*columns, strict=True))[:limit]:
        writer.writerow([str(value) for value in row])
    return stream.getvalue()


def describe(text):
    """Counts per group from the text of a file."""
    counts = {}
    for row in csv.DictReader(io.StringIO(text)):
        counts[row["group"]] = counts.get(row["group"], 0) + 1
    return counts


def standardise(values):
    """Mean 0, standard deviation 1."""
    return (values - values.mean()) / values.std()


# ---------------------------------------------------------------------------
# Comparing groups
# ---------------------------------------------------------------------------


def welch(one, other):
    """Welch's t statistic of two samples."""
    variance = one.var(ddof=1) / one.size + other.var(ddof=1) / other.size
    return float((one.mean() - other.mean()) / math.sqrt(variance))


def permutation_test(score, group, rng, resamples):
    """How often a difference of means as large comes about by chance."""
    observed = score[group == 1].mean() - score[group == 0].mean()
    shuffled = group.copy()
    extreme = 0
    for _ in range(resamples):
        rng.shuffle(shuffled)
        difference = score[shuffled == 1].mean() - score[shuffled == 0].mean()
        extreme += abs(difference) >= abs(observed)
    return float(observed), (extreme + 1) / (resamples + 1)


def robust_weights(values, centre, scale):
    """Weights of Tukey's biweight: what lies far out doesn't count."""
    u = (values - centre) / (4.685 * scale)
    inside = np.abs(u) < 1
    return np.where(inside, (1 - u * u) ** 2, 0.0)


def robust_mean(values, rounds=5):
    """A mean that outliers don't pull."""
    centre = np.median(values)
    scale = np.median(np.abs(values - centre)) * 1.4826
    for _ in range(rounds):
        weights = robust_weights(values, centre, scale)
        centre = (weights * values).sum() / weights.sum()
    return float(centre)


# ---------------------------------------------------------------------------
# Densities
# ---------------------------------------------------------------------------


def bandwidth(sample):
    """Silverman's rule."""
    spread = min(sample.std(), (np.percentile(sample, 75) - np.percentile(sample, 25)) / 1.34)
    return 0.9 * float(spread) * sample.size**-0.2


def density(points, sample, width):
    """A Gaussian kernel density estimate."""
    scaled = (points[:, None] - sample[None, :]) / width
    kernel = np.exp(-0.5 * scaled * scaled)
    return kernel.sum(axis=1) / (sample.size * width * math.sqrt(2 * math.pi))


def density_2d(x_points, y_points, x_sample, y_sample, x_width, y_width):
    """The same in two dimensions, at pairs of points."""
    dx = (x_points[:, None] - x_sample[None, :]) / x_width
    dy = (y_points[:, None] - y_sample[None, :]) / y_width
    kernel = np.exp(-0.5 * (dx * dx + dy * dy))
    return kernel.mean(axis=1) / (2 * math.pi * x_width * y_width)


def overlap(points, one, other):
    """The area that two densities share."""
    step = points[1] - points[0]
    return float(np.minimum(one, other).sum() * step)


# ---------------------------------------------------------------------------
# Regression
# ---------------------------------------------------------------------------


def design_matrix(age, income, score):
    """Columns of the regression."""
    columns = [standardise(age), standardise(np.log(income)), standardise(score)]
    return np.column_stack([np.ones(age.size), *columns])


def logistic_loss(weights, design, passed, penalty):
    """The negative log-likelihood and its gradient."""
    z = design @ weights
    probability = 1 / (1 + np.exp(-z))
    loss = np.logaddexp(0, z) - passed * z
    gradient = design.T @ (probability - passed) + penalty * weights
    return loss.sum() + 0.5 * penalty * (weights * weights).sum(), gradient


def fit_logistic(design, passed, rounds=60, rate=1.0):
    """Gradient descent with a step that shrinks."""
    weights = np.zeros(design.shape[1])
    target = passed.astype(float)
    loss = math.inf
    for round_ in range(rounds):
        loss, gradient = logistic_loss(weights, design, target, 1e-3)
        weights = weights - rate / (1 + 0.05 * round_) * gradient / target.size
    return weights, float(loss)


# ---------------------------------------------------------------------------
# A posterior on a grid
# ---------------------------------------------------------------------------


def log_posterior(means, widths, sample, nu=4.0):
    """Student's t likelihood of a sample, for every mean and width of a grid."""
    scaled = (sample[None, None, :] - means[:, None, None]) / widths[None, :, None]
    terms = np.log1p(scaled * scaled / nu)
    likelihood = -0.5 * (nu + 1) * terms.sum(axis=-1) - sample.size * np.log(widths)[None, :]
    return likelihood - 0.5 * ((means[:, None] - 50) / 20) ** 2


def summarise(means, widths, posterior):
    """The expected mean and width."""
    weights = np.exp(posterior - posterior.max())
    weights /= weights.sum()
    mean = float((weights.sum(axis=1) * means).sum())
    width = float((weights.sum(axis=0) * widths).sum())
    return mean, width


def analyse(columns, rng, resamples):
    """Everything; returns what is printed."""
    group, age, income, score, passed = columns
    lines = []
    one, other = score[group == 1], score[group == 0]
    difference, chance = permutation_test(score, group, rng, resamples)
    lines.append(f"difference {difference:.3f}, p {chance:.4f}, t {welch(one, other):.2f}")
    lines.append(f"robust means {robust_mean(one):.3f} {robust_mean(other):.3f}")

    points = np.linspace(20.0, 90.0, 300)
    densities = [density(points, sample, bandwidth(sample)) for sample in (one, other)]
    lines.append(f"overlap {overlap(points, *densities):.4f}")
    joint = density_2d(age[:800], score[:800], age, score, bandwidth(age), bandwidth(score))
    lines.append(f"least likely {joint.min():.3e}")

    weights, loss = fit_logistic(design_matrix(age, income, score), passed)
    lines.append("weights " + " ".join(f"{w:.3f}" for w in weights) + f", loss {loss:.2f}")

    means, widths = np.linspace(45.0, 65.0, 40), np.linspace(4.0, 14.0, 30)
    posterior = log_posterior(means, widths, score[:2000])
    lines.append("posterior {:.3f} {:.3f}".format(*summarise(means, widths, posterior)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    columns = simulate_survey(options.people, np.random.default_rng(3))
    print("groups", sorted(describe(to_text(columns)).items()))
    lines = analyse(columns, np.random.default_rng(4), options.resamples)  # warms up
    begin = time.perf_counter()
    for _ in range(options.repeats):
        lines = analyse(columns, np.random.default_rng(4), options.resamples)
    seconds = time.perf_counter() - begin
    print("\n".join(lines))
    print(f"work: {seconds:.4f} s")


if __name__ == "__main__":
    main()
