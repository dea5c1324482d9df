"""Kernels are linked to torch's libraries by name, which the loader finds in the process."""

import pytest
from children import run

pytestmark = pytest.mark.inductor

SCRIPT = """
import npaccel
from pathlib import Path

x = np.linspace(-3.0, 3.0, 1001)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = npaccel.jit(lambda x: np.sin(x) * 2.5 + np.arctan(x))(x)
close = bool(np.allclose(found, np.sin(x) * 2.5 + np.arctan(x), rtol=1e-14))
empty = Path(os.environ["NPACCEL_CACHE_DIR"]).glob("**/empty_libraries/*")
answer(close=close, said=[str(one.message) for one in said], empty=sorted(p.name for p in empty))
"""


def _compiler(folder, text):
    path = folder / "g++"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_a_linker_that_drops_what_seems_unused_keeps_them(tmp_path):
    """As Ubuntu's does. The vectors' sines are in torch's libraries, the empty ones have none."""
    text = 'case "$*" in *-o*.so*) set -- -Wl,--as-needed "$@";; esac\nexec /usr/bin/env g++ "$@"'
    compiler = _compiler(tmp_path, text)
    found = run(SCRIPT, CXX=compiler, NPACCEL_CACHE_DIR=str(tmp_path / "cache"))
    assert found["close"]
    assert found["said"] == []
    assert "libtorch_cpu.so" in found["empty"]


def test_torchs_own_are_taken_where_none_can_be_made(tmp_path):
    text = 'case "$*" in *-soname*) exit 1;; esac\nexec /usr/bin/env g++ "$@"'
    cache = str(tmp_path / "cache")
    found = run(SCRIPT, CXX=_compiler(tmp_path, text), NPACCEL_CACHE_DIR=cache)
    assert found == {"close": True, "said": [], "empty": []}
