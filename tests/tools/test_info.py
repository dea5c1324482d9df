"""`npaccel info` tells what a bug report needs, and changes nothing."""

import json

import children
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from npaccel._process import environment
from npaccel._tools import cli, info
from npaccel._version import __version__

SECTIONS = [
    *("versions", "C++ compiler", "processor", "GPU", "threads", "cache", "environment"),
    *("allocator", "replaced in torch"),
]


@pytest.fixture
def output(tmp_path, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NPACCEL_PROGRESS", "0")

    def run(*args):
        result = CliRunner().invoke(cli.main, ["info", *args])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_all_sections_are_printed(output, tmp_path):
    lines = output().splitlines()
    assert [line for line in lines if not line.startswith(" ")] == SECTIONS
    rows = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    assert ["npaccel", __version__] in rows
    assert ["numpy", np.__version__] in rows
    assert ["folder", str(tmp_path / "cache")] in rows
    assert ["NPACCEL_PROGRESS", "0"] in rows
    assert not (tmp_path / "cache").exists()


def test_json_has_the_same_and_each_replacement(output):
    found = json.loads(output("--json"))
    assert list(found) == SECTIONS
    assert found["versions"]["torch"] == torch.__version__
    assert found["threads"]["torch"] == torch.get_num_threads()
    for_good = found["replaced in torch"]["for good"]
    assert len(for_good) > 50
    assert all(": " in one for one in for_good)
    assert f"{len(for_good)} replacements" in info.text(found)


def test_the_compiler_and_the_flags_of_kernels():
    found = info.compiler()
    if "path" not in found:
        pytest.skip("there is no C++ compiler")
    assert found["version"]
    # What Inductor asks for, and what npaccel adds.
    assert {"-fopenmp", "-fwrapv"} <= set(found["flags"].split())


def test_without_a_compiler_it_says_so(monkeypatch):
    from npaccel._torch.inductor import compiler_command

    def missing():
        raise compiler_command.exc.InvalidCxxCompiler

    monkeypatch.setattr(compiler_command.cpp_builder, "get_cpp_compiler", missing)
    found = info.compiler()
    assert list(found) == ["program"]
    assert found["program"].startswith("none (")


def test_libraries_that_are_missing(monkeypatch):
    monkeypatch.setattr(info, "_LIBRARIES", ("numpy", "no-such-library"))
    assert info.versions()["no-such-library"] == "not installed"


def test_variables_are_those_that_are_set(monkeypatch):
    for name in (*environment.VARIABLES, "TORCH_LOGS"):
        monkeypatch.delenv(name, raising=False)
    before = info.variables()
    monkeypatch.setenv("NPACCEL_MALLOC", "0")
    monkeypatch.setenv("TORCH_LOGS", "guards")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    added = {"NPACCEL_MALLOC": "0", "TORCH_LOGS": "guards"}
    assert info.variables() == before | added
    assert info.malloc.settings()["glibc"].endswith("NPACCEL_MALLOC=0")


def test_a_section_without_rows():
    assert info.text({"GPU": {}, "threads": {"torch": 2}}) == "GPU\n  none\nthreads\n  torch  2"


def test_variables_are_the_users_own(tmp_path):
    found = children.run(
        """
        os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
        from npaccel._tools import info
        answer(variables=info.collect()["environment"], cache=os.path.exists(sys.argv[1]))
        """,
        tmp_path / "cache",
        NPACCEL_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert found["variables"]["NPACCEL_CACHE_DIR"] == str(tmp_path / "cache")
    assert "TORCHINDUCTOR_CACHE_DIR" not in found["variables"]
    assert not found["cache"]
