"""Jitted functions, methods, closures and partials, copied and sent elsewhere."""

import copy
import functools
import pickle

import children
import cloudpickle
import numpy as np
import pytest

import npaccel
from npaccel._syntax import source

X = np.linspace(0.0, 1.0, 7)


@npaccel.jit(backend="eager")
def module_level(x):
    """Double and add."""
    return x * 2 + 1


def undecorated(x):
    return x * 3


class Model:
    def __init__(self, factor):
        self.factor = factor

    @npaccel.jit(backend="eager", default_float="float64")
    def scale(self, x):
        return x * self.factor

    @staticmethod
    @npaccel.jit(backend="eager")
    def static(x):
        return x - 1

    @classmethod
    @npaccel.jit(backend="eager")
    def of_class(cls, x):
        return x - 2


def closure(k):
    @npaccel.jit(backend="eager")
    def inner(x):
        return x * k

    return inner


def power(x, exponent, *, offset):
    return x**exponent + offset


CASES = {
    "function": (lambda: module_level, lambda x: x * 2 + 1),
    "wrapped by hand": (lambda: npaccel.jit(undecorated, backend="eager"), lambda x: x * 3),
    "closure": (lambda: closure(5.0), lambda x: x * 5.0),
    "lambda": (lambda: npaccel.jit(lambda x: x / 4, backend="eager"), lambda x: x / 4),
    "partial inside": (
        lambda: npaccel.jit(functools.partial(power, exponent=2, offset=1.0), backend="eager"),
        lambda x: x**2 + 1.0,
    ),
    "partial outside": (
        lambda: functools.partial(npaccel.jit(power, backend="eager"), exponent=2, offset=1.0),
        lambda x: x**2 + 1.0,
    ),
    "bound method": (lambda: Model(6.0).scale, lambda x: x * 6.0),
    "jit of a bound method": (
        lambda: npaccel.jit(Plain(6.0).scale, backend="eager"),
        lambda x: x * 6.0,
    ),
    "static method": (lambda: Model.static, lambda x: x - 1),
    "class method": (lambda: Model.of_class, lambda x: x - 2),
    "callable object": (lambda: npaccel.jit(Plain(8.0), backend="eager"), lambda x: x + 8.0),
}
COPIES = {
    "pickle": lambda f: pickle.loads(pickle.dumps(f)),
    "oldest pickle": lambda f: pickle.loads(pickle.dumps(f, protocol=2)),
    "cloudpickle": lambda f: cloudpickle.loads(cloudpickle.dumps(f)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


class Plain:
    def __init__(self, factor):
        self.factor = factor

    def scale(self, x):
        return x * self.factor

    def __call__(self, x):
        return x + self.factor


@pytest.mark.parametrize("called_before", [False, True], ids=["new", "called before"])
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("case", CASES)
def test_a_copy_computes_the_same(case, how, called_before):
    make, expected = CASES[case]
    original = make()
    if called_before:
        np.testing.assert_array_equal(original(X), expected(X))
    duplicate = COPIES[how](original)
    np.testing.assert_array_equal(duplicate(X), expected(X), strict=True)
    np.testing.assert_array_equal(original(X), expected(X), strict=True)


def test_a_function_of_a_module_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert pickle.loads(pickle.dumps(Model(1.0).scale)).__func__ is Model.__dict__["scale"]
    assert len(pickle.dumps(module_level)) < 200


def test_a_copy_keeps_options_and_description():
    original = npaccel.jit(lambda n: n / 2, backend="eager", default_float="float64")
    for how in ("pickle", "cloudpickle", "deepcopy", "copy"):
        duplicate = COPIES[how](original)
        assert duplicate(np.arange(3)).dtype == np.float64
        assert duplicate.__name__ == original.__name__
        assert duplicate.__doc__ == original.__doc__
    assert pickle.loads(pickle.dumps(closure(1.0))).__name__ == "inner"


def test_a_copy_does_not_share_what_the_closure_holds():
    """A pickled closure has its own cell; a deep copy of a function is the function's."""
    k = 2.0

    @npaccel.jit(backend="eager")
    def scaled(x):
        return x * k

    elsewhere = pickle.loads(pickle.dumps(scaled))
    k = 3.0
    np.testing.assert_array_equal(scaled(X), X * 3.0)
    np.testing.assert_array_equal(elsewhere(X), X * 2.0)


def test_recursion_and_functions_that_call_each_other():
    inner = closure(2.0)

    @npaccel.jit(backend="eager")
    def outer(x):
        return inner(x) + module_level(x)

    for how in ("pickle", "cloudpickle", "deepcopy"):
        np.testing.assert_array_equal(COPIES[how](outer)(X), X * 2.0 + (X * 2 + 1))


@pytest.mark.parametrize("is_lambda", [False, True])
def test_the_source_of_a_function_that_was_sent_by_value(is_lambda):
    def named(x):
        return x + 1

    own = (lambda x: x + 1) if is_lambda else named
    sent = cloudpickle.loads(cloudpickle.dumps(own))
    assert sent is not own
    assert source.node_of(sent).lineno == own.__code__.co_firstlineno


def test_a_jitted_function_inside_other_objects():
    original = {"f": closure(2.0), "parts": [module_level, Model(3.0)]}
    duplicate = pickle.loads(pickle.dumps(original))
    np.testing.assert_array_equal(duplicate["f"](X), X * 2.0)
    assert duplicate["parts"][0] is module_level
    np.testing.assert_array_equal(duplicate["parts"][1].scale(X), X * 3.0)
    deep = copy.deepcopy(original)
    np.testing.assert_array_equal(deep["parts"][1].scale(X), X * 3.0)


def test_another_process_reads_a_pickle(tmp_path):
    original = npaccel.jit(lambda x, k=2.5: x * k, backend="eager", default_float="float64")
    data = pickle.dumps((original, functools.partial(original, k=4.0)))
    (tmp_path / "data").write_bytes(data)
    found = children.run_prepared(
        f"""
        import pickle
        with open({str(tmp_path / "data")!r}, "rb") as file:
            function, partial = pickle.load(file)
        answer(results=[function(np.arange(3)).tolist(), partial(np.arange(3)).tolist()],
               dtype=str(function(np.arange(3)).dtype))
        """
    )
    assert found == {"results": [[0.0, 2.5, 5.0], [0.0, 4.0, 8.0]], "dtype": "float64"}


def test_what_cannot_be_pickled_says_so():
    import threading

    lock = threading.Lock()
    function = npaccel.jit(lambda x: x if lock else -x, backend="eager")
    with pytest.raises(TypeError, match="lock"):
        pickle.dumps(function)
