"""Run functions on all ranks of a group of processes, which is begun once for a module of tests."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


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
