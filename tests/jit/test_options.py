"""`npaccel.jit`, `npaccel.options`, `npaccel.config` and `Options` have the same options."""

import dataclasses
import inspect
import typing

import numpy as np
import pytest

import npaccel
from npaccel._runtime.options import NOT_GIVEN, Config, Options

NAMES = [field.name for field in dataclasses.fields(Options)]


def parameters(function):
    found = inspect.signature(function).parameters.values()
    return {one.name: one for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("function", [npaccel.jit, npaccel.options])
def test_options_are_keyword_parameters(function):
    found = parameters(function)
    assert list(found) == NAMES
    assert all(one.default is NOT_GIVEN for one in found.values())
    assert repr(NOT_GIVEN) in str(inspect.signature(function))


@pytest.mark.parametrize("overload", range(2))
def test_overloads_have_the_same_options(overload):
    found = parameters(typing.get_overloads(npaccel.jit)[overload])
    assert {name: one.annotation for name, one in found.items()} == annotations(npaccel.jit)
    assert all(one.default is ... for one in found.values())


def annotations(function):
    return {name: one.annotation for name, one in parameters(function).items()}


def test_types_agree():
    of_jit = annotations(npaccel.jit)
    assert annotations(npaccel.options) == of_jit
    of_config = dict(Config.__annotations__)
    del of_config["_scope"]
    assert of_config == of_jit
    of_options = {field.name: field.type for field in dataclasses.fields(Options)}
    # They are made a tuple of.
    assert of_jit.pop("static_argnames") == "str | Sequence[str]"
    assert of_options.pop("static_argnames") == "tuple[str, ...]"
    assert of_options == of_jit


@pytest.mark.parametrize(
    "use",
    [
        lambda options: npaccel.jit(np.sin, **options),
        lambda options: npaccel.jit(**options),
        lambda options: npaccel.options(**options).__enter__(),
        lambda options: setattr(npaccel.config, *next(iter(options.items()))),
        lambda options: getattr(npaccel.config, next(iter(options))),
    ],
)
def test_an_unknown_option_is_answered_with_one_that_is_like_it(use):
    error = r"no option 'devise'; did you mean 'device'\? The options are device, default_float"
    with pytest.raises((TypeError, AttributeError), match=error):
        use({"devise": "cpu"})


@pytest.mark.parametrize(
    ("option", "wrong", "allowed"),
    [
        ("strict", "yes", "False, True"),
        ("dynamic", 2, "False, True, None"),
        ("verify", "raise", "False, True, 'warn'"),
        ("loops", "jit", "'auto', 'compile', 'numba', 'unroll', 'python'"),
    ],
)
def test_the_values_of_an_option_are_those_of_its_type(option, wrong, allowed):
    with pytest.raises(npaccel.errors.OptionError, match=f"it can be {allowed}$"):
        npaccel.jit(**{option: wrong})


def test_none_is_a_value_and_not_given_is_none():
    given = npaccel.jit(np.sin, dynamic=None)._npaccel_explicit
    assert given == {"dynamic": None}
    assert npaccel.jit(np.sin)._npaccel_explicit == {}
