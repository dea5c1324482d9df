"""Kernels are linked to torch's libraries by name, which the loader finds in the process."""

import os
import shutil

import pytest
from children import run_prepared as run

pytestmark = pytest.mark.inductor

SCRIPT = """
import npaccel
from pathlib import Path

factor = float(sys.argv[1])
x = np.linspace(-3.0, 3.0, 1001)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = npaccel.jit(lambda x: np.sin(x) * factor + np.arctan(x))(x)
close = bool(np.allclose(found, np.sin(x) * factor + np.arctan(x), rtol=1e-14))
empty = Path(os.environ["NPACCEL_CACHE_DIR"]).glob("**/empty_libraries/*")
answer(close=close, said=[str(one.message) for one in said], empty=sorted(p.name for p in empty))
"""

#: It makes no empty libraries, or drops what seems unused as Ubuntu's linker does.
COMPILER = f"""#!/bin/sh
case "$LINKER $*" in
    refuses*-soname*) exit 1;;
    drops*-o*.so*) set -- -Wl,--as-needed "$@";;
esac
exec {shutil.which("g++")} "$@"
"""


def test_the_loader_finds_torchs_libraries_whatever_the_linker_does(own_cache, tmp_path):
    """The vectors' sines are in these; where no empty ones can be made, torch's own are taken."""
    path = tmp_path / "g++"
    path.write_text(COMPILER)
    path.chmod(0o700)
    folders = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    own = {"PATH": folders, "NPACCEL_CACHE_DIR": str(own_cache)}
    found = run(SCRIPT, 1.5, LINKER="refuses", **own)
    assert found == {"close": True, "said": [], "empty": []}
    found = run(SCRIPT, 2.5, LINKER="drops", **own)
    assert found["close"]
    assert found["said"] == []
    assert "libtorch_cpu.so" in found["empty"]
