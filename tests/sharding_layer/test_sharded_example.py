"""The example of sharded k-means, as torchrun starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed
from sweep import FULL

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/sharded_kmeans.py"

pytestmark = [
    pytest.mark.skipif(not FULL, reason="takes some time"),
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="torch is built without gloo"
    ),
]


@pytest.mark.parametrize("count", [2, 4])
def test_answers_agree(count, tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={count}"]
    command += ["--standalone", str(EXAMPLE), "--points", "20_000", "--folder", str(tmp_path)]
    ran = subprocess.run(
        command,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{count} processes, 20,000 points" in ran.stdout
    assert ran.stdout.count("all-reduce of 64 bytes") == 2
    assert "answers agree" in ran.stdout
