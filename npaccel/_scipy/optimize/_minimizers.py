"""Minimisers with their vectors on a device; the host reads a few numbers per iteration.

BFGS, conjugate gradients and Newton's method are those of J. Nocedal and S. J. Wright, "Numerical
Optimization", chapters 5 to 7, with SciPy's conditions for the end. The simplex is that of
J. A. Nelder and R. Mead (1965).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.optimize._objectives import Objective, Ray, Stopped, Vector, read, searched

DONE = "Optimization terminated successfully."
MANY_ITERATIONS = "Maximum number of iterations has been exceeded."
MANY_CALLS = "Maximum number of function evaluations has been exceeded."
IMPRECISE = "Desired error not necessarily achieved due to precision loss."
NOT_A_NUMBER = "NaN result encountered."
HALTED = "`callback` raised `StopIteration`."


def result(
    status: int, message: str, x: Vector, value: Vector, nit: int, objective: Objective, **more: Any
) -> Any:
    """Return SciPy's result object."""
    from scipy.optimize import OptimizeResult

    return OptimizeResult(
        x=x,
        fun=value,
        nit=nit,
        nfev=objective.nfev,
        status=status,
        success=status == 0,
        message=message,
        **more,
    )


def _size(vector: Vector, order: float) -> Vector:
    if not vector.numel():
        return vector.sum()
    return torch.linalg.vector_norm(vector, ord=order)


class _Descent:
    """Base of BFGS and conjugate gradients: where the iteration is, and when it ends."""

    def __init__(self, objective: Objective, x: Vector, call: Any, options: dict[str, Any]) -> None:
        self.objective, self.call, self.options = objective, call, options
        self.x = x
        self.value, self.gradient = objective.both(x)
        self.order = options["norm"]
        self.known, length, self.norm = read(
            self.value, _size(self.gradient, 2), _size(self.gradient, self.order)
        )
        self.before = self.known + length / 2
        self.nit = 0
        most = options["maxiter"]
        self.most = x.numel() * 200 if most is None else most
        self.path = [x]

    def goes_on(self) -> bool:
        """Whether another iteration is due."""
        return bool(self.norm > self.options["gtol"] and self.nit < self.most)

    def taken(self, ray: Ray) -> None:
        """Go to where a line search ended."""
        self.before, self.known = self.known, ray.value
        self.x, self.value, self.gradient = ray.place, ray.value_there, ray.gradient
        self.nit += 1
        self.path.append(self.x)
        self.call(self.x, self.value)

    def ended(self, imprecise: bool, halted: bool, **more: Any) -> Any:
        """Return the result."""
        numbers = [self.norm, self.known, *read(self.x.sum())]
        if halted:
            status, message = 99, HALTED
        elif imprecise:
            status, message = 2, IMPRECISE
        elif self.nit >= self.most:
            status, message = 1, MANY_ITERATIONS
        elif any(map(math.isnan, numbers)):
            status, message = 3, NOT_A_NUMBER
        else:
            status, message = 0, DONE
        if self.options["return_all"]:
            more["allvecs"] = self.path
        more |= {"jac": self.gradient, "njev": self.objective.njev}
        return result(status, message, self.x, self.value, self.nit, self.objective, **more)


def bfgs(objective: Objective, x: Vector, call: Any, options: dict[str, Any]) -> Any:
    """The method of Broyden, Fletcher, Goldfarb and Shanno, with the inverse of the Hessian."""
    state = _Descent(objective, x, call, options)
    given = options["hess_inv0"]
    inverse = torch.eye(x.numel(), dtype=x.dtype, device=x.device) if given is None else given.to(x)
    limits = {"c1": options["c1"], "c2": options["c2"], "amin": 1e-100, "amax": 1e100}
    imprecise = halted = False
    while state.goes_on():
        direction = -(inverse @ state.gradient)
        ray = Ray(objective, state.x, direction)
        (slope,) = read(torch.dot(state.gradient, direction))
        if not searched(ray, state.known, state.before, slope, **limits):
            imprecise = True
            break
        step, change = ray.place - state.x, ray.gradient - state.gradient
        try:
            state.taken(ray)
        except Stopped:
            halted = True
            break
        state.norm, length, size, product = read(
            _size(state.gradient, state.order),
            _size(step, 2),
            _size(state.x, 2),
            torch.dot(step, change),
        )
        tolerance = options["xrtol"]
        if state.norm <= options["gtol"] or length <= tolerance * (tolerance + size):
            break
        if not math.isfinite(state.known):
            imprecise = True
            break
        inverse = _updated(inverse, step, change, 1000.0 if product == 0 else 1 / product)
    return state.ended(imprecise, halted, hess_inv=inverse)


def _updated(inverse: Vector, step: Vector, change: Vector, rho: float) -> Vector:
    """The inverse of the Hessian after a step: Nocedal and Wright, equation 6.17."""
    turned = inverse @ change
    square = torch.dot(change, turned)
    cross = torch.outer(turned, step)
    more = (rho * rho * square + rho) * torch.outer(step, step)
    return inverse - rho * (cross + cross.T) + more


def conjugate(objective: Objective, x: Vector, call: Any, options: dict[str, Any]) -> Any:
    """Conjugate gradients of Polak and Ribiere, with their condition of descent."""
    state = _Descent(objective, x, call, options)
    limits = {"c1": options["c1"], "c2": options["c2"], "amin": 1e-100, "amax": 1e100}
    direction = -state.gradient
    imprecise = halted = False
    while state.goes_on():
        ray = Ray(objective, state.x, direction)
        gradient = state.gradient
        slope, square = read(torch.dot(gradient, direction), torch.dot(gradient, gradient))
        found: dict[str, Any] = {}

        def descends(
            ray: Ray, gradient: Vector = gradient, square: float = square, found: Any = found
        ) -> bool:
            new = ray.gradient
            beta = torch.clamp(torch.dot(new - gradient, new) / square, min=0)
            ahead = beta * ray.direction - new
            norm, slope, length = read(
                _size(new, state.order), torch.dot(ahead, new), torch.dot(new, new)
            )
            found.update(ahead=ahead, norm=norm)
            return norm <= options["gtol"] or slope <= -0.01 * length

        if not searched(ray, state.known, state.before, slope, descends, **limits):
            imprecise = True
            break
        descends(ray)
        direction, state.norm = found["ahead"], found["norm"]
        try:
            state.taken(ray)
        except Stopped:
            halted = True
            break
    return state.ended(imprecise, halted)


def newton(
    objective: Objective, x: Vector, call: Any, options: dict[str, Any], hess: Any, hessp: Any
) -> Any:
    """Newton's method, its equations solved by conjugate gradients as far as it pays."""
    most = x.numel() * 200 if options["maxiter"] is None else options["maxiter"]
    value, gradient = objective.both(x)
    known, before = read(value)[0], None
    path, nit, update, last = [x], 0, math.inf, gradient
    counts = {"nhev": 0}

    def ended(status: int, message: str) -> Any:
        more: dict[str, Any] = {"allvecs": path} if options["return_all"] else {}
        more |= {"jac": last, "njev": objective.njev, **counts}
        return result(status, message, x, value, nit, objective, **more)

    while update > x.numel() * options["xtol"]:
        if nit >= most:
            return ended(1, "Warning: " + MANY_ITERATIONS)
        product = _products(objective, x, gradient, hess, hessp, counts, options["eps"])
        direction = _newton_direction(product, gradient)
        if direction is None:
            return ended(
                3,
                "Warning: CG iterations didn't converge. The Hessian is not positive definite.",
            )
        ray, last = Ray(objective, x, direction), gradient
        (slope,) = read(torch.dot(gradient, direction))
        limits = {"c1": options["c1"], "c2": options["c2"]}
        if not searched(ray, known, before, slope, **limits):
            return ended(2, "Warning: " + IMPRECISE)
        (update,) = read(_size(ray.place - x, 1))
        before, known, x, value = known, ray.value, ray.place, ray.value_there
        gradient = ray.gradient
        nit += 1
        path.append(x)
        try:
            call(x, value)
        except Stopped:
            return ended(99, HALTED)
    if math.isnan(known) or math.isnan(update):
        return ended(3, NOT_A_NUMBER)
    return ended(0, DONE)


def _products(
    objective: Objective,
    x: Vector,
    gradient: Vector,
    hess: Any,
    hessp: Any,
    counts: dict[str, int],
    eps: float,
) -> Any:
    """The products of the Hessian with vectors, from what there is."""
    if callable(hess):
        counts["nhev"] += 1
        matrix = torch.as_tensor(hess(x, *objective.args)).to(x)
        return lambda p: matrix @ p
    if callable(hessp):

        def by_user(p: Vector) -> Vector:
            counts["nhev"] += 1
            return torch.as_tensor(hessp(x, p, *objective.args)).to(x)

        return by_user
    if objective.jac is None or objective.jac is False:
        return objective.curvature(x)
    return lambda p: (objective.gradient(x + eps * p) - gradient) / eps


def _newton_direction(product: Any, gradient: Vector) -> Vector | None:
    """Solve H p = -g: Nocedal and Wright, algorithm 7.1; None where it takes too long."""
    found, residual, direction = torch.zeros_like(gradient), gradient, -gradient
    (size,) = read(_size(gradient, 1))
    enough = min(0.5, math.sqrt(size)) * size
    square, length = read(torch.dot(residual, residual), _size(residual, 1))
    least = 3 * torch.finfo(torch.float64).eps
    for i in range(20 * gradient.numel()):
        if length <= enough:
            return found
        image = product(direction).reshape(gradient.shape)
        (bend,) = read(torch.dot(direction, image))
        if 0 <= bend <= least:
            return found
        if bend < 0:
            return found if i else gradient * (square / bend)
        alpha = square / bend
        found = found + alpha * direction
        residual = residual + alpha * image
        before = square
        square, length = read(torch.dot(residual, residual), _size(residual, 1))
        direction = (square / before) * direction - residual
    return None


# -- The simplex ----------------------------------------------------------------------------


class _TooManyCallsError(Exception):
    """Error where no more evaluations are allowed."""


def nelder_mead(
    objective: Objective, x: Vector, call: Any, options: dict[str, Any], bounds: Any
) -> Any:
    """Reflect, expand, contract and shrink a simplex."""
    simplex = _Simplex(objective, x, options, bounds)
    nit, halted = 1, False
    while objective.nfev < simplex.most_calls and nit < simplex.most:
        try:
            if simplex.small(options["xatol"], options["fatol"]):
                break
            simplex.move()
            nit += 1
        except _TooManyCallsError:
            pass
        simplex.sort()
        simplex.path.append(simplex.places[0])
        try:
            call(simplex.places[0], simplex.best())
        except Stopped:
            halted = True
            break
    if halted:
        status, message = 99, HALTED
    elif objective.nfev >= simplex.most_calls:
        status, message = 1, MANY_CALLS
    elif nit >= simplex.most:
        status, message = 2, MANY_ITERATIONS
    else:
        status, message = 0, DONE
    places = torch.stack(simplex.places)
    values = torch.tensor(simplex.values, dtype=torch.float64, device=x.device)
    more: dict[str, Any] = {"final_simplex": (places, values)}
    if options["return_all"]:
        more["allvecs"] = simplex.path
    return result(status, message, simplex.places[0], simplex.best(), nit, objective, **more)


class _Simplex:
    """The corners, best first, and their values."""

    def __init__(
        self, objective: Objective, x: Vector, options: dict[str, Any], bounds: Any
    ) -> None:
        self.objective, self.bounds = objective, bounds
        n = x.numel()
        self.most, self.most_calls = _limits(options["maxiter"], options["maxfev"], n)
        if options["adaptive"]:
            self.chi, self.psi, self.sigma = 1 + 2 / n, 0.75 - 1 / (2 * n), 1 - 1 / n
        else:
            self.chi, self.psi, self.sigma = 2.0, 0.5, 0.5
        start = options["initial_simplex"]
        corners = _corners(self.clipped(x)) if start is None else torch.as_tensor(start).to(x)
        if corners.shape != (n + 1, n):
            raise ValueError("`initial_simplex` should be an array of shape (N+1,N)")
        if bounds is not None:
            upper = bounds[1]
            corners = torch.where(corners > upper, 2 * upper - corners, corners)
            corners = self.clipped(corners)
        self.places = list(corners)
        self.values = [math.inf] * (n + 1)
        self.path = [self.places[0]]
        try:
            for k in range(n + 1):
                self.values[k] = self.value(self.places[k])
        except _TooManyCallsError:
            pass
        self.sort()

    def clipped(self, x: Vector) -> Vector:
        """A point within the bounds."""
        if self.bounds is None:
            return x
        return torch.minimum(torch.maximum(x, self.bounds[0]), self.bounds[1])

    def value(self, x: Vector) -> float:
        """The value at a point, read by the host."""
        if self.objective.nfev >= self.most_calls:
            raise _TooManyCallsError
        return read(self.objective.value(x))[0]

    def best(self) -> Vector:
        """The least value, on the device."""
        like = self.places[0]
        return torch.tensor(self.values[0], dtype=torch.float64, device=like.device)

    def sort(self) -> None:
        """Put the best corner first; NaN is the worst."""
        order = sorted(
            range(len(self.values)), key=lambda k: (math.isnan(self.values[k]), self.values[k])
        )
        self.values = [self.values[k] for k in order]
        self.places = [self.places[k] for k in order]

    def small(self, width: float, height: float) -> bool:
        """Whether the simplex is small enough."""
        spread = max(abs(self.values[0] - v) for v in self.values[1:])
        if not spread <= height:
            return False
        others = torch.stack(self.places[1:])
        return read((others - self.places[0]).abs().max())[0] <= width

    def move(self) -> None:
        """One iteration."""
        n = len(self.places) - 1
        centre = torch.stack(self.places[:-1]).sum(0) / n
        worst = self.places[-1]
        reflected = self.clipped(2 * centre - worst)
        value = self.value(reflected)
        if value < self.values[0]:
            expanded = self.clipped((1 + self.chi) * centre - self.chi * worst)
            other = self.value(expanded)
            self._take(*((expanded, other) if other < value else (reflected, value)))
        elif value < self.values[-2]:
            self._take(reflected, value)
        elif not self._contracted(centre, worst, value):
            self._shrink()

    def _contracted(self, centre: Vector, worst: Vector, value: float) -> bool:
        outside = value < self.values[-1]
        sign = self.psi if outside else -self.psi
        place = self.clipped((1 + sign) * centre - sign * worst)
        found = self.value(place)
        if found <= value if outside else found < self.values[-1]:
            self._take(place, found)
            return True
        return False

    def _take(self, place: Vector, value: float) -> None:
        self.places[-1], self.values[-1] = place, value

    def _shrink(self) -> None:
        best = self.places[0]
        for k in range(1, len(self.places)):
            self.places[k] = self.clipped(best + self.sigma * (self.places[k] - best))
            self.values[k] = self.value(self.places[k])


def _corners(x: Vector) -> Vector:
    """The first simplex: each coordinate a little larger, one after the other."""
    larger = torch.where(x != 0, 1.05 * x, 0.00025)
    return torch.cat([x[None], torch.where(torch.eye(x.numel(), device=x.device) > 0, larger, x)])


def _limits(most: Any, most_calls: Any, n: int) -> tuple[float, float]:
    """Return how many iterations and evaluations are allowed."""
    if most is None and most_calls is None:
        return 200 * n, 200 * n
    if most is None:
        return (200 * n if most_calls == math.inf else math.inf), most_calls
    if most_calls is None:
        return most, (200 * n if most == math.inf else math.inf)
    return most, most_calls


# -- Limited memory, bounds -----------------------------------------------------------------


class _Memory:
    """The last steps, as an inverse of the Hessian: Nocedal and Wright, algorithm 7.4."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pairs: list[tuple[Vector, Vector, Vector]] = []

    def add(self, step: Vector, change: Vector) -> None:
        """Keep a step."""
        self.pairs = [*self.pairs, (step, change, 1 / torch.dot(step, change))][-self.size :]

    def product(self, vector: Vector) -> Vector:
        """The inverse times a vector."""
        factors = []
        for step, change, rho in reversed(self.pairs):
            factor = rho * torch.dot(step, vector)
            vector = vector - factor * change
            factors.append(factor)
        if self.pairs:
            step, change, _ = self.pairs[-1]
            vector = vector * (torch.dot(step, change) / torch.dot(change, change))
        for (step, change, rho), factor in zip(self.pairs, reversed(factors), strict=True):
            vector = vector + step * (factor - rho * torch.dot(change, vector))
        return vector


def limited_memory(
    objective: Objective, x: Vector, call: Any, options: dict[str, Any], bounds: Any
) -> Any:
    """L-BFGS; where there are bounds, on the variables that are free to move.

    The bounded form is the two-metric projection of D. P. Bertsekas (1982).
    """
    search = _Bounded(objective, x, options, bounds)
    status, message = 0, ""
    while not message:
        if search.norm <= options["gtol"]:
            message = "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL"
            break
        before = search.known
        if not search.step():
            status, message = 2, "ABNORMAL: "
            break
        try:
            call(search.x, search.value)
        except Stopped:
            status, message = 99, HALTED
            break
        change = before - search.known
        if search.norm <= options["gtol"]:
            continue
        if change <= options["ftol"] * max(abs(before), abs(search.known), 1.0):
            message = "CONVERGENCE: RELATIVE REDUCTION OF F <= FACTR*EPSMCH"
        elif search.nit >= options["maxiter"]:
            status, message = 1, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT"
        elif objective.nfev > options["maxfun"]:
            status, message = 1, "STOP: TOTAL NO. OF F,G EVALUATIONS EXCEEDS LIMIT"
    more = {"jac": search.gradient, "njev": objective.njev}
    return result(
        status,
        message,
        search.x,
        search.value,
        search.nit,
        objective,
        hess_inv=_operator(search.memory, x),
        **more,
    )


class _Bounded:
    """State of the iteration, and its steps."""

    def __init__(
        self, objective: Objective, x: Vector, options: dict[str, Any], bounds: Any
    ) -> None:
        self.objective, self.bounds, self.options = objective, bounds, options
        self.memory = _Memory(options["maxcor"])
        self.x = self.clipped(x)
        self.nit = 0
        self._at(self.x, *objective.both(self.x))

    def clipped(self, x: Vector) -> Vector:
        """A point within the bounds."""
        if self.bounds is None:
            return x
        return torch.minimum(torch.maximum(x, self.bounds[0]), self.bounds[1])

    def _at(self, x: Vector, value: Vector, gradient: Vector) -> None:
        self.x, self.value, self.gradient = x, value, gradient
        moved = self.clipped(x - gradient) - x
        self.known, self.norm = read(value, _size(moved, math.inf))

    def _direction(self) -> tuple[Vector, float]:
        """A direction of descent for what can move, and the slope."""
        if self.bounds is None:
            gradient, free = self.gradient, None
        else:
            lower, upper = self.bounds
            held = ((self.x <= lower) & (self.gradient > 0)) | (
                (self.x >= upper) & (self.gradient < 0)
            )
            free = ~held
            gradient = self.gradient * free
        direction = -self.memory.product(gradient)
        direction = direction if free is None else direction * free
        slope, size = read(torch.dot(direction, self.gradient), _size(gradient, 2))
        if not self.memory.pairs and size > 0:
            return direction * min(1.0, 1 / size), slope * min(1.0, 1 / size)
        return direction, slope

    def step(self) -> bool:
        """Go on by one step, without the memory where it leads nowhere; False if none is found."""
        for _ in range(2):
            direction, slope = self._direction()
            if slope < 0 and self._moved(direction, slope):
                self.nit += 1
                return True
            if not self.memory.pairs:
                return False
            self.memory.pairs = []
        return False

    def _moved(self, direction: Vector, slope: float) -> bool:
        if self.bounds is None:
            found = self._along_line(direction, slope)
        else:
            found = self._along_arc(direction)
        if found is None:
            return False
        place, value, gradient = found
        step, change = place - self.x, gradient - self.gradient
        product, square = read(torch.dot(step, change), torch.dot(change, change))
        if product > torch.finfo(step.dtype).eps * square:
            self.memory.add(step, change)
        self._at(place, value, gradient)
        return True

    def _along_line(self, direction: Vector, slope: float) -> Any:
        ray = Ray(self.objective, self.x, direction)
        if searched(ray, self.known, None, slope, c1=1e-3, c2=0.9, amin=0.0, amax=1e10):
            return ray.place, ray.value_there, ray.gradient
        return None

    def _along_arc(self, direction: Vector) -> Any:
        """Halve the step until the value falls as it should, for a point within the bounds."""
        step = 1.0
        for _ in range(2 * self.options["maxls"]):
            place = self.clipped(self.x + step * direction)
            value, gradient = self.objective.both(place)
            found, expected = read(value, torch.dot(self.gradient, place - self.x))
            if found <= self.known + 1e-4 * expected and expected < 0:
                return place, value, gradient
            step /= 2
        return None


def _operator(memory: _Memory, like: Vector) -> Any:
    """SciPy's operator of the inverse, for tensors."""
    from scipy.optimize import LbfgsInvHessProduct

    class Inverse(LbfgsInvHessProduct):  # type: ignore[misc]
        """The inverse of the Hessian; ``inverse @ tensor`` and ``inverse.todense()``."""

        def __init__(self) -> None:
            self.shape = (like.numel(), like.numel())
            self.dtype = torch.empty(0, dtype=like.dtype).numpy().dtype
            nothing = like.new_zeros((0, like.numel()))
            self.sk = torch.stack([p[0] for p in memory.pairs]) if memory.pairs else nothing
            self.yk = torch.stack([p[1] for p in memory.pairs]) if memory.pairs else nothing
            self.n_corrs = len(memory.pairs)

        def __matmul__(self, vector: Any) -> Any:
            return memory.product(vector)

        def matvec(self, x: Any) -> Any:
            return memory.product(x)

        dot = __call__ = matvec

        def todense(self) -> Any:
            unit = torch.eye(like.numel(), dtype=like.dtype, device=like.device)
            return torch.stack([memory.product(row) for row in unit])

    return Inverse()
