"""The short way of fake tensors gives what torch's own way gives, and asks for no conditions."""

import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from npaccel._torch.dynamo import fake_tensor_fast_path as fake_arithmetic
from npaccel._torch.dynamo.install import install

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf")

aten = torch.ops.aten
install()
DTYPES = (torch.bool, torch.int64, torch.float16, torch.float32, torch.complex64)
#: Arguments that are neither arrays nor numbers.
OTHERS = {"round": {"decimals": 1}, "div": {"rounding_mode": "floor"}}


def overloads():
    """Every operation that the short way may take."""
    found = []
    for name in dir(aten):
        packet = getattr(aten, name)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            found += [getattr(packet, overload) for overload in packet.overloads()]
    return [func for func in found if fake_arithmetic._suits(func)]


def call_of(func, operands, number):
    """Arguments of the kinds that an operation takes, or None where they are unusual."""
    operands = itertools.cycle(operands)
    args = []
    for argument in func._schema.arguments:
        kind = str(argument.type)
        if kind == "Tensor" or (kind == "Optional[Tensor]" and func._schema.name != "aten::clone"):
            args.append(next(operands))
        elif kind in ("number", "Optional[number]") and not argument.kwarg_only:
            args.append(number)
        elif argument.kwarg_only or argument.has_default_value():
            break
        elif kind == "int":
            args.append(0)
        else:
            return None
    return tuple(args), OTHERS.get(func._schema.name.removeprefix("aten::"), {})


class Operands:
    """Fake arrays of two symbolic sizes and of two known ones, in several memory orders."""

    def __init__(self):
        self.mode = FakeTensorMode(shape_env=ShapeEnv())
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
        self.base = self.mode.from_tensor(torch.zeros(5, 7), symbolic_context=context)

    def of(self, dtype, form):
        if form == "known sizes":
            return self.mode.from_tensor(torch.zeros(5, 7, dtype=dtype))
        with self.mode:
            fake = self.base.to(dtype)
            return {
                "": lambda: fake,
                "transposed": lambda: torch.empty(fake.T.shape, dtype=dtype).T,
                "sliced": lambda: torch.cat([fake, fake])[: fake.shape[0]],
                "strided": lambda: torch.cat([fake, fake], 1)[:, : fake.shape[1]],
                "0-d": lambda: fake[0, 0],
                "row": lambda: fake[0],
                "column": lambda: fake[:, :1],
                "shorter": lambda: fake[1:],
                "empty": lambda: fake[:0],
                "flat": lambda: fake.reshape(-1),
            }[form]()


def described(mode, func, args, kwargs):
    """What a call gives, as far as later operations can tell."""
    try:
        with mode:
            result = func(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        return type(error)
    assert type(result) is FakeTensor
    return (
        result.dtype, result.device, str(tuple(result.shape)), str(result.stride()),
        str(result.storage_offset()), result.is_contiguous(),
        [i for i, x in enumerate(args) if x is result],
    )  # fmt: skip


def compare(funcs, operands, numbers=(2, 0.5)):
    """Make the same calls in both ways; return how many."""
    plain, quick = Operands(), Operands()
    compared = 0
    for dtypes, forms in operands:
        one = [plain.of(*x) for x in zip(dtypes, forms, strict=True)]
        other = [quick.of(*x) for x in zip(dtypes, forms, strict=True)]
        for func, number in itertools.product(funcs, numbers):
            call = call_of(func, one, number)
            if call is None:
                continue
            wanted = described(plain.mode, func, *call)
            args, kwargs = call_of(func, other, number)
            with fake_arithmetic.quick_fakes():
                for _ in range(2):  # The first call finds the dtype.
                    got = described(quick.mode, func, args, kwargs)
                    assert got == wanted, (str(func), dtypes, forms, number)
            compared += 1
    assert len(quick.mode.shape_env.guards) <= len(plain.mode.shape_env.guards)
    return compared


@pytest.fixture(scope="module")
def funcs():
    found = overloads()
    assert {aten.add.Tensor, aten.where.self, aten.cumsum.default, aten.copy_.default} <= set(found)
    return found


def test_operations_on_elements_give_what_torch_gives(funcs):
    operands = [((dtype, dtype), ("", "")) for dtype in DTYPES]
    assert compare(funcs, operands) > len(funcs) * len(DTYPES)


def test_operands_of_other_dtypes(funcs):
    binary = [aten.add.Tensor, aten.where.self, aten.copy_.default, aten.div.Tensor, aten.eq.Tensor]
    assert set(binary) <= set(funcs)
    operands = [
        (pair, forms)
        for pair in itertools.product(DTYPES, DTYPES)
        for forms in (("", ""), ("", "0-d"), ("0-d", ""))
    ]
    compare(binary, operands, numbers=(2,))


def test_operands_in_other_forms(funcs):
    some = [
        aten.add.Tensor, aten.where.self, aten.copy_.default, aten._to_copy.default,
        aten.clone.default, aten.cumsum.default, aten.mul.Scalar, aten.sqrt.default,
    ]  # fmt: skip
    assert set(some) <= set(funcs)
    forms = ("", "known sizes", "transposed", "sliced", "strided", "0-d", "row", "column",
             "shorter", "empty", "flat")  # fmt: skip
    operands = [((torch.float32, torch.float32), pair) for pair in itertools.product(forms, forms)]
    compare(some, operands, numbers=(2,))


def test_a_write_forgets_a_constant():
    mode = FakeTensorMode()
    with mode, fake_arithmetic.quick_fakes():
        constant = torch.tensor(3)
        assert constant.item() == 3
        constant.copy_(torch.zeros((), dtype=torch.int64))
        assert constant.constant is None or constant.constant.item() == 0
