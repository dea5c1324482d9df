"""The kernels' header is made once, early, and whole."""

import os
import shutil

import pytest
from children import run_prepared as run

pytestmark = pytest.mark.inductor

ONE = """
import npaccel
from pathlib import Path

def compile_one(k):
    return npaccel.jit(lambda x: np.sin(x) * k)(np.arange(3.0)).tolist()

def answer_header(**values):
    from npaccel._torch.inductor import precompiled_headers as headers
    (request,) = headers._requests.values()
    folder = Path(request.path).parent
    drafts = [str(file) for file in (folder.parent / "tmp").iterdir()]
    answer(is_there=request.is_there(), drafts=drafts, **values)
"""

FORKED = """
from npaccel._compiler import scratch as _scratch
from npaccel._torch.inductor import precompiled_headers
precompiled_headers.begin(_scratch.scratch_folder())
pid = os.fork()
if pid == 0:
    signal.alarm(100)
    found = compile_one(2.5)
    os._exit(0 if found == (np.sin(np.arange(3.0)) * 2.5).tolist() else 1)
_, status = os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_what_is_begun_is_what_inductor_asks_for_and_forks_wait_for_it(tmp_path):
    found = run(
        ONE + FORKED + "compile_one(1.5)\nanswer_header(status=status)",
        NPACCEL_CACHE_DIR=str(tmp_path),
    )
    assert found == {"is_there": True, "drafts": [], "status": 0}


def test_a_program_that_ends_meanwhile_leaves_no_compiler(tmp_path):
    """Nor half of a header, which the next one would take for a whole one."""
    ends = """
from npaccel._compiler import scratch
from npaccel._torch.inductor import precompiled_headers
precompiled_headers.begin(scratch.scratch_folder())
time.sleep(1)
answer()
"""
    run(ONE + ends, NPACCEL_CACHE_DIR=str(tmp_path))
    folder = tmp_path.glob("**/precompiled_headers/*")
    assert [file.name for file in folder if file.suffix not in (".h", ".lock", ".sum")] == []


UNSTARTED = """
from npaccel._compiler import scratch as _scratch
from npaccel._torch.inductor import precompiled_headers

def fails(self):
    raise RuntimeError("can't start new thread")

start, threading.Thread.start = threading.Thread.start, fails
try:
    precompiled_headers.begin(_scratch.scratch_folder())
except RuntimeError as error:
    raised = str(error)
threading.Thread.start = start
x = np.arange(3, dtype="e")  # Kernels of float16 need the header.
same = np.allclose(npaccel.jit(lambda x: np.sin(x) * 2.5)(x), np.sin(x) * 2.5, rtol=1e-2)
answer_header(raised=raised, same=bool(same))
"""


def test_a_thread_that_cannot_start_is_not_waited_for(tmp_path):
    found = run(ONE + UNSTARTED, NPACCEL_CACHE_DIR=str(tmp_path))
    wanted = {"raised": "can't start new thread", "same": True, "is_there": True, "drafts": []}
    assert found == wanted


def test_a_compiler_that_fails_is_told_where_the_header_is_wanted(tmp_path):
    """By float16, of which kernels need it."""
    compiler = tmp_path / "g++"
    compiler.write_text(
        '#!/bin/sh\nfor a in "$@"; do case "$a" in *.gch*) echo "error: no room" >&2; exit 1;; '
        f'esac; done\nexec {shutil.which("g++")} "$@"\n'
    )
    compiler.chmod(0o700)
    script = """
import npaccel
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = npaccel.jit(lambda x: np.sin(x) * 3.5)(np.arange(3.0, dtype="e")).tolist()
answer(found=found, said=[str(one.message) for one in said])
"""
    folders = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    found = run(script, PATH=folders, NPACCEL_CACHE_DIR=str(tmp_path / "cache"))
    assert found["found"] == pytest.approx([0.0, 2.9451484, 3.1825410], rel=1e-3)
    assert any("error: no room" in text for text in found["said"])
