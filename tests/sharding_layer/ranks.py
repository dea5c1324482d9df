"""Run functions on all ranks of a group of processes, which is begun once for a module of tests."""

import datetime as dt
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def join():
    """Join the other ranks in a program that `Ranks` runs; return this rank and their mesh."""
    import torch.distributed as dist
    from torch.distributed.tensor import init_device_mesh

    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(
        "gloo",
        init_method=f"file://{os.environ['NPACCEL_TEST_STORE']}",
        rank=rank,
        world_size=count,
        timeout=dt.timedelta(seconds=60),
    )
    return rank, init_device_mesh("cpu", (count,))


class Ranks:
    """What a program told that was run by each rank."""

    def __init__(self, program, count, *arguments, threads=1, timeout=300):
        with tempfile.TemporaryDirectory() as folder:
            env = os.environ | {
                "OMP_NUM_THREADS": str(threads),
                "WORLD_SIZE": str(count),
                "NPACCEL_TEST_STORE": f"{folder}/store",
                "NPACCEL_TEST_ANSWER": f"{folder}/answer",
                "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
            }
            command = [sys.executable, str(HERE / program), *map(str, arguments)]
            children = [
                subprocess.Popen(
                    command,
                    env=env | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                for rank in range(count)
            ]
            try:
                self.outputs = [child.communicate(timeout=timeout)[0] for child in children]
            finally:
                for child in children:
                    child.kill()
            self.codes = [child.returncode for child in children]
            answers = [Path(f"{folder}/answer-{rank}") for rank in range(count)]
            self.answers = [
                pickle.loads(one.read_bytes()) if one.exists() else None for one in answers
            ]
