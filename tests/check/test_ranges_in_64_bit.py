"""A dtype that the user gives holds for how ranges are computed, too; found by audits."""

import numpy as np
import pytest

import npaccel


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: np.linspace(0, 1, 50, dtype=dtype),
        lambda dtype: np.linspace(0, 2**26 + 3, 50, dtype=dtype),
        lambda dtype: np.linspace(0, 1, 7, endpoint=False, retstep=True, dtype=dtype)[0],
        lambda dtype: np.logspace(0, 3, 7, dtype=dtype),
        lambda dtype: np.geomspace(1, 3, 7, dtype=dtype),
    ],
)
def test_given_dtypes(make, dtype):
    found = npaccel.jit(make, backend="eager", cache=False)(dtype)
    expected = make(dtype)
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    assert np.allclose(found, expected, rtol=tolerance, atol=0)
