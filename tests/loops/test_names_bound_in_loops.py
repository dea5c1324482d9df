"""Names that a loop binds first, and that are read after it: by whichever part has them."""

import warnings

import numpy as np
import pytest

import npaccel


def two_names(x):
    for i in range(2):
        a, b = x[i]
    return a - b


def one_name(x):
    for k in range(3):
        y = x * k
    return y + 1


def loop_variable(x):
    for k in range(1, 4):
        x = x + k
    return x * k


def over_a_tuple(x):
    for scale in (2.0, 3.0):
        y = x * scale
    return y * scale


def nested(x):
    for i in range(2):
        for j in range(2):
            y = x[i] * j
    return y + i + j


def two_loops(x):
    for i in range(2):
        y = x[i]
    for i in range(2):
        z = y * x[i]
    return y + z


def one_after_the_other(x):
    for i in range(2):
        y = x[i] + 1
    for i in range(2):
        y = y * x[i]
    return y - 1


def built_up(x):
    for i in range(2):
        if i:
            y = y * x[i]  # noqa: F821 (bound in the first iteration)
        else:
            y = x[i] + 1
    return y * 2


def built_up_in_a_loop(x):
    total = x[0] * 0
    for row in x:
        for i in range(2):
            if i:
                y = y * row  # noqa: F821 (bound in the first iteration)
            else:
                y = row + 1
        total = total + y
    return total


def in_a_branch(x):
    if x.shape[0] > 1:
        for i in range(2):
            y = x[i] * 2
        z = y + 1
    else:
        z = x[0]
    return z * 2


def perhaps_before(x):
    if x.shape[0] > 1:
        y = x[0]
    for i in range(2):
        y = x[i] * 3
    return y + 1


def in_a_loop(x):
    total = x[0] * 0
    for row in x:
        for k in range(2):
            y = row * k
        total = total + (y + 1)
    return total + y


def in_a_while(x):
    n = 0
    while n < 3:
        for k in range(2):
            y = x[k] + n
        x = x + (y - 1)
        n += 1
    return x * y


def in_a_try(x):
    try:
        for k in range(2):
            y = x[k] * 2
        z = y + 1
    finally:
        x = x + 1
    return z * y


def with_a_list(x):
    found = []
    for k in range(2):
        y = x[k] * 2
        found.append(y + 1)
    return y * 3 + found[0] * len(found)


def with_a_break(x):
    for k in range(4):
        y = x[k % 2] + k
        if k == 2:
            break
    return y * k


def in_a_comprehension(x):
    for k in range(2):
        y = x[k]
    return [y * m for m in range(2)]


def never_bound(x):
    for k in range(2):
        if k > 5:
            y = x * k
    return y + 1


def never_bound_in_a_loop(x):
    for row in x:
        for k in range(2):
            if k > 5:
                y = row * k
        x = x + y
    return x


PROGRAMS = [
    *(two_names, one_name, loop_variable, over_a_tuple, nested, two_loops, one_after_the_other),
    *(built_up, built_up_in_a_loop, in_a_branch, perhaps_before, in_a_loop, in_a_while, in_a_try),
    *(with_a_list, with_a_break, in_a_comprehension, never_bound, never_bound_in_a_loop),
]


def outcome(function, x):
    try:
        return function(x), None
    except NameError as error:
        return None, error


@pytest.mark.parametrize("loops", ["auto", "compile", "unroll"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_names_bound_in_loops(program, loops):
    x = np.arange(1.0, 5.0).reshape(2, 2)
    jitted = npaccel.jit(program, backend="eager", loops=loops, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
        for _ in range(2):
            (found, raised), (wanted, error) = outcome(jitted, x.copy()), outcome(program, x.copy())
            assert type(raised) is type(error)
            if error is None:
                np.testing.assert_array_equal(found, wanted, strict=True)


def test_what_a_loop_binds_is_compiled_with_what_reads_it():
    jitted = npaccel.jit(one_name, backend="eager", cache=False)
    jitted(np.ones(3))
    assert len(jitted.report().graphs) == 1
