"""The table is complete, and its rows have NumPy's parameters."""

import inspect
import types

import numpy as np
import pytest
import torch

from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._numpy.core.not_compiled import HOST, REFUSED

_numpy.load()
ROWS = table.rows()
COMPILED = {name: row for name, row in ROWS.items() if row.status == "compiled"}
SERIES = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
MODULES = {
    "numpy": np,
    "numpy.linalg": np.linalg,
    "numpy.fft": np.fft,
    "numpy.random": np.random,
    "numpy.lib.stride_tricks": np.lib.stride_tricks,
    "numpy.polynomial": np.polynomial,
    **{f"numpy.polynomial.{name}": getattr(np.polynomial, name) for name in SERIES},
}


def public_names(module):
    names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    public = [name for name in names if name[0] != "_" or name.endswith("__")]
    return [name for name in public if not isinstance(getattr(module, name), types.ModuleType)]


def is_left_out(owner, value):
    """Constants of the series are arrays; their classes are rows of numpy.polynomial."""
    return owner.count(".") == 2 and isinstance(value, np.ndarray | type)


@pytest.mark.parametrize("owner", MODULES)
def test_every_public_object_has_a_row(owner):
    without = [
        name
        for name in public_names(MODULES[owner])
        if table.row_named(f"{owner}.{name}") is None
        and table.row_of(getattr(MODULES[owner], name)) is None
        and not is_left_out(owner, getattr(MODULES[owner], name))
    ]
    assert not without, f"no row for {without}: implement them, or name them in _uncompiled.py"


@pytest.mark.parametrize(
    ("owner", "kind"),
    [
        ("numpy.ndarray", np.ndarray),
        ("numpy.random.Generator", np.random.Generator),
        ("numpy.random.RandomState", np.random.RandomState),
    ],
)
def test_every_method_and_attribute_has_a_row(owner, kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    gone = {"itemset", "newbyteorder", "ptp", "tostring"}  # NumPy 2.0 raises where they are read.
    without = [name for name in names if table.row_named(f"{owner}.{name}") is None]
    assert not set(without) - gone


def test_every_operator_of_arrays_has_a_row():
    operators = [
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift"),
        *("rshift", "and", "or", "xor"),
    ]
    names = [f"__{name}__" for name in (*operators, *(f"r{name}" for name in operators))]
    names += [f"__i{name}__" for name in operators if name != "divmod"]
    names += [f"__{name}__" for name in ("lt", "le", "eq", "ne", "gt", "ge")]
    names += ["__neg__", "__pos__", "__abs__", "__invert__", "__getitem__", "__setitem__"]
    for name in names:
        assert hasattr(np.ndarray, name)
        assert table.row_named(f"numpy.ndarray.{name}").status == "compiled"


def ufuncs():
    found = {value for value in vars(np).values() if isinstance(value, np.ufunc)}
    return sorted(found, key=lambda ufunc: ufunc.__name__)


@pytest.mark.parametrize("ufunc", ufuncs(), ids=lambda ufunc: ufunc.__name__)
def test_every_method_of_a_ufunc_has_a_row_and_its_status_is_true(ufunc):
    if ufunc.signature is not None:
        return  # NumPy has no methods of these.
    methods = ["outer"] if ufunc.nin == 2 else []
    if ufunc.nin == 2 and ufunc.nout == 1:
        methods += ["reduce", "accumulate", "reduceat"]
    if ufunc.nout == 1:
        methods += ["at"]
    for method in methods:
        row = table.row_named(f"numpy.{ufunc.__name__}.{method}")
        assert row is not None, f"{ufunc.__name__}.{method}"
        assert computes(row, ufunc, method) == (row.status == "compiled"), row.name


def computes(row, ufunc, method):
    """Whether the implementation computes for at least one dtype that NumPy has a loop for."""
    for dtype in (torch.float32, torch.int32, torch.bool):
        one = torch.ones(3, dtype=dtype)
        more = {"outer": [one], "reduceat": [torch.tensor([0])], "at": [torch.tensor([0])]}
        args = more.get(method, []) + ([one[:1]] if method == "at" and ufunc.nin == 2 else [])
        try:
            row.implementation(one, *args)
        except (NotImplementedError, TypeError, ValueError):
            continue
        return True
    return False


def test_what_is_not_compiled_has_a_reason_and_raises_with_it():
    left_out = [row for row in ROWS.values() if row.status != "compiled"]
    assert left_out
    for row in left_out:
        assert row.status in ("host", "refused"), row.name
        assert row.reason, row.name
        assert not row.reason.endswith("."), row.name
        if row.name.rsplit(".", 1)[-1] in ("reduce", "accumulate", "reduceat", "at"):
            continue
        with pytest.raises(NotImplementedError, match="can't be compiled"):
            row.implementation()


def test_no_name_is_left_out_twice():
    names = [n for reasons in (HOST, REFUSED) for text in reasons.values() for n in text.split()]
    assert len(names) == len(set(names))
    for name in names:
        row = table.row_named(f"numpy.{name}")
        assert row is None or row.status != "compiled", f"{name} is compiled: take it off the list"


# -- parameters


def numpy_of(row):
    """The NumPy callable of a row, or None where it has none or is a type."""
    found = row.numpy
    if found is None:
        parts = row.name.split(".")[1:]
        found = getattr(getattr(np, parts[0], None), parts[-1], None) if len(parts) == 2 else None
    return None if isinstance(found, type | types.NoneType) or not callable(found) else found


def signature(function):
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None  # NumPy before 2.4 tells no signature of what is written in C.


def named_parameters(found):
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, p in found.parameters.items() if p.kind in kinds and name != "self"]


def takes_anything(found):
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.parameters.values())


WITH_SIGNATURE = [
    name
    for name, row in COMPILED.items()
    if numpy_of(row) is not None
    and not isinstance(row.numpy, np.ufunc)
    and signature(numpy_of(row)) is not None
]


def test_many_rows_are_compared():
    assert len(WITH_SIGNATURE) > 200


@pytest.mark.parametrize("name", WITH_SIGNATURE)
def test_a_row_has_every_parameter_of_numpy(name):
    row = ROWS[name]
    theirs, mine = signature(numpy_of(row)), signature(row.implementation)
    if not takes_anything(mine):
        missing = set(named_parameters(theirs)) - set(mine.parameters) - set(row.unsupported)
        assert not missing, f"{name} neither takes nor refuses {missing}"
    in_order = [n for n, p in theirs.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    own = [n for n, p in mine.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    shared = [n for n in own if n in in_order]
    assert shared == [n for n in in_order if n in own], f"{name}: another order than NumPy's"


UFUNC_KEYWORDS = {"where": True, "casting": "same_kind", "order": "K", "subok": True}


@pytest.mark.parametrize("ufunc", ufuncs(), ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_takes_every_keyword_or_names_it(ufunc):
    row = table.row_of(ufunc)
    for dtype in (torch.float32, torch.int32, torch.bool):
        operands = [torch.ones((2, 2), dtype=dtype)] * ufunc.nin
        if plain(row, operands) is not None:
            break
    else:
        assert ufunc is np.isnat  # It has loops for dates only.
        return
    expected = plain(row, operands)
    keywords = {**UFUNC_KEYWORDS, "out": outputs(expected), "dtype": None}
    if ufunc.signature is not None:
        del keywords["where"]  # NumPy has none there.
        keywords |= {"axes": None}
    if ufunc.signature == "(n),(n)->()":
        keywords |= {"axis": -1, "keepdims": False}
    for keyword, value in keywords.items():
        found = row.implementation(*operands, **{keyword: value})
        for one, other in zip(parts(found), parts(expected), strict=True):
            assert torch.equal(one, other), keyword
    for keyword in row.unsupported:
        with pytest.raises(NotImplementedError, match=keyword):
            row.implementation(*operands, **{keyword: [(-1,)] * (ufunc.nin + ufunc.nout)})


def plain(row, operands):
    try:
        return row.implementation(*operands)
    except TypeError:
        return None


def parts(found):
    return found if isinstance(found, tuple | list) else (found,)


def outputs(found):
    made = tuple(torch.zeros_like(x) for x in parts(found))
    return made if len(made) > 1 else made[0]


METHOD_KEYWORDS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("axis", "dtype", "out"),
}


@pytest.mark.parametrize("method", METHOD_KEYWORDS)
def test_the_methods_of_ufuncs_have_numpys_keywords(method):
    rows = [row for name, row in COMPILED.items() if name.endswith(f".{method}")]
    assert rows
    for row in rows:
        own = list(inspect.signature(row.implementation).parameters)
        own = [name for name in own if name not in ("array", "indices")]
        assert own == list(METHOD_KEYWORDS[method]), row.name


def test_an_unknown_parameter_is_a_type_error():
    for function in (np.sum, np.sin, np.linalg.norm, np.fft.fft):
        with pytest.raises(TypeError, match="nonsense"):
            table.row_of(function).implementation(torch.ones(3), nonsense=1)
