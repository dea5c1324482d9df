"""Three programs as scientists write them: the doctor's advice makes each twice as fast.

The advice is followed to the letter: what it says to compile is compiled, nothing else.
One of them by default, NPACCEL_TEST_SWEEP=full: all three.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sweep import FULL

import npaccel

PROGRAMS = Path(__file__).parent / "programs"
ROOT = str(Path(npaccel.__file__).parent.parent)
#: One thread: two of them wait for each other where other tests use the cores.
THREADS = {} if FULL else {"OMP_NUM_THREADS": "1"}
ENVIRONMENT = os.environ | {"PYTHONPATH": ROOT, **THREADS}
#: The functions that take most of the time; the doctor names each or one that calls it.
HOT = {
    "image_pipeline": {"conductance", "denoise"},
    "shallow_water": {"half_step_x", "half_step_y", "full_step", "sources"},
    "survey_statistics": {"density_2d", "log_posterior"},
}


def run(*args):
    return subprocess.run(
        [sys.executable, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )


def numbers(output):
    """Return what a program prints, without the time it took."""
    text = "\n".join(line for line in output.splitlines() if not line.startswith("work:"))
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?|nan", text)]


def seconds(output):
    return float(re.search(r"work: ([\d.]+) s", output)[1])


def test_they_are_long_and_unaware_of_npaccel():
    for path in PROGRAMS.glob("*.py"):
        text = path.read_text()
        assert text.count("\n") >= 200
        assert "npaccel" not in text
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(HOT)


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", HOT if FULL else ["shallow_water"])
def test_the_advice_makes_it_twice_as_fast(name, tmp_path):
    script, found = PROGRAMS / f"{name}.py", tmp_path / "found.json"
    diagnosed = run("-m", "npaccel", "doctor", "--json", found, script)
    assert diagnosed.returncode == 0, diagnosed.stdout + diagnosed.stderr
    diagnosis = json.loads(found.read_text())
    named = {finding["target"].partition(":")[2] for finding in diagnosis["findings"]}
    assert named >= HOT[name], diagnosed.stdout
    flags = [flag for target in diagnosis["targets"] for flag in ("--jit", target)]
    command = ("-m", "npaccel", "run", "-q", *flags, script)
    for _ in range(3):  # The machine may be busy with something else.
        plain, compiled = run(script), run(*command)
        assert compiled.returncode == 0, compiled.stderr
        assert numbers(compiled.stdout) == pytest.approx(
            numbers(plain.stdout), rel=2e-3, nan_ok=True
        )
        ratio = seconds(plain.stdout) / seconds(compiled.stdout)
        print(f"{name}: {ratio:.2f} times as fast")
        if ratio >= 2:
            return
    pytest.fail(f"{name}: {ratio:.2f} times as fast, with\n{diagnosed.stdout}")
