"""Every compiled row of the table against NumPy, on calls that are made from the row.

The calls of a row (`diff_cases.plans`) run over all dtypes, memory layouts and
special values, and try each keyword of NumPy's signature. 13 of them are compared for
each row, the same ones each time; all of them with NPACCEL_TEST_SWEEP=full.
What differs must have its reason in `npaccel._numpy.core.known_differences`.
"""

import zlib

import numpy as np
import pytest
import torch
from diff_cases import keywords_of, plans, role_of
from diff_excuses import EXCUSES
from diff_running import check, check_on, text_of
from diff_spec import SPECS
from diff_specs import spec_of
from sweep import FULL

from npaccel import _numpy
from npaccel._numpy.core.known_differences import DIFFERENCES
from npaccel._numpy.core.table import rows

_numpy.load()
COMPILED = {name: row for name, row in rows().items() if row.status == "compiled"}
#: Calls of a row that are compared in a sample: through its row, and through `jit`.
DIRECT, JIT = 12, 1

pytestmark = pytest.mark.filterwarnings("ignore")


#: Calls that were wrong once, by their seeds: compared in each run.
ONCE_WRONG = {
    "numpy.delete": (392, 398),
    "numpy.divide.reduce": (587, 606, 690, 696, 774),
    "numpy.dot": (380, 383, 384),
    "numpy.ediff1d": (6, 7),
    "numpy.fft.fftn": (548,),
    "numpy.fft.ifftn": (542, 608),
    "numpy.fft.ihfft": (588,),
    "numpy.histogram": (694, 700),
    "numpy.hypot.reduce": (711,),
    "numpy.imag": (24, 25),
    "numpy.indices": (622, 628),
    "numpy.insert": (214, 241, 446),
    "numpy.interp": (332, 333, 358, 359, 651),
    "numpy.linalg.pinv": (140, 220, 221, 256, 257, 392, 476),
    "numpy.linalg.tensorsolve": (133,),
    "numpy.linspace": (660, 889),
    "numpy.logspace": (610, 642, 652, 761, 794, 855),
    "numpy.nanmax": (806,),
    "numpy.nanmedian": (788,),
    "numpy.nanpercentile": (685, 901, 959),
    "numpy.nanquantile": (643,),
    "numpy.ndarray.__ipow__": (133,),
    "numpy.ndarray.dot": (312, 336, 338, 342, 353),
    "numpy.ndarray.real.__set__": (114,),
    "numpy.ndarray.sort": (319, 322, 358, 725),
    "numpy.ndarray.view": (28, 29, 50, 94, 138, 161),
    "numpy.percentile": (237, 379, 403),
    "numpy.polydiv": (57, 134, 291),
    "numpy.polyfit": (690, 694, 701, 812),
    "numpy.polymul": (264,),
    "numpy.polynomial.laguerre.lagfit": (421,),
    "numpy.polynomial.polynomial.polyfit": (314, 368),
    "numpy.power": (805,),
    "numpy.quantile": (415, 421, 909),
    "numpy.real": (24, 25),
    "numpy.stack": (713,),
    "numpy.uint32": (316, 343),
    "numpy.unique": (619, 625, 631, 649),
}


def chosen(row):
    """Return calls through the row and through `jit`: a sample that is the same in each run."""
    every = plans(row)
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    order = [every[i] for i in rng.permutation(len(every))]
    if spec_of(row).text:
        return [], order if FULL else order[:JIT]
    if FULL:
        return every, order[:20]
    again = [plan for plan in order[DIRECT:] if plan.seed in ONCE_WRONG.get(row.name, ())]
    return order[:DIRECT] + again, order[DIRECT : DIRECT + JIT]


@pytest.mark.parametrize("name", COMPILED)
def test_a_row_is_called_with_all_of_numpys_keywords(name):
    row = COMPILED[name]
    spec = spec_of(row)
    assert spec is not None, f"{name} has no spec: say in diff_specs.py how it is called"
    for keyword in keywords_of(row, spec):
        assert role_of(spec, keyword), f"no values for {keyword} of {name} in diff_specs.py"


def test_every_spec_has_a_row():
    known = set(rows())
    missing = [name for name in SPECS if name not in known and present(name)]
    assert not missing


def present(name):
    """Whether the installed NumPy has what a name says."""
    found = np
    for part in name.removeprefix("numpy.").split("."):
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize("name", COMPILED)
def test_calls_equal_numpys(name):
    direct, through_jit = chosen(COMPILED[name])
    found = [(check(plan), plan) for plan in direct]
    found += [(check(plan, jit=True), plan) for plan in through_jit]
    wrong = [f"{text}: {text_of(plan)}" for text, plan in found if text]
    assert not wrong, f"{len(wrong)} of {len(found)} calls differ:\n" + "\n".join(wrong[:5])


@pytest.mark.cuda
@pytest.mark.parametrize("name", COMPILED)
def test_calls_on_a_gpu_equal_numpys(name):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    plans = [plan for part in chosen(COMPILED[name]) for plan in part]
    found = [(check_on("cuda", plan), plan) for plan in plans]
    wrong = [f"{text}: {text_of(plan)}" for text, plan in found if text]
    assert not wrong, f"{len(wrong)} of {len(found)} calls differ:\n" + "\n".join(wrong[:5])


def test_every_reason_is_one_that_the_tests_know():
    assert {d.kind for d in DIFFERENCES} == set(EXCUSES)
    for difference in DIFFERENCES:
        assert not difference.reason.endswith(".")
        assert any(difference.holds(name) for name in COMPILED), difference.reason


@pytest.mark.parametrize("name", [name for name, row in COMPILED.items() if row.unsupported])
def test_an_unsupported_parameter_is_named(name):
    row = COMPILED[name]
    for parameter in row.unsupported:
        args, _ = plans(row)[0].draw()
        with pytest.raises((NotImplementedError, TypeError), match=parameter):
            row.implementation(*args, **{parameter: [(-1,)] * 3})
