"""`npaccel run` and `npaccel doctor`: scripts that don't know of npaccel."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import npaccel
from npaccel._runtime.options import Options
from npaccel._tools import cli, doctor, flat_scripts, jit_options, profile_calls
from npaccel._tools.decorate import Source
from npaccel._tools.doctor import diagnose
from npaccel._tools.profile_calls import Profile, Watched
from npaccel._tools.run_script import run_script
from npaccel._tools.trial import Trial, tried

SCRIPT = """
import sys
import numpy as np
import tools

def hot(x):
    return np.sin(x) * 2 + tools.shift(x)

class Model:
    scale = 3.0
    @staticmethod
    def cube(x):
        return x ** 3
    def scaled(self, x):
        return self.scale * x

def numbers():
    yield 1

def main():
    x = np.linspace(0.0, 1.0, 50)
    for _ in range(3):
        x = hot(x)
    y = Model.cube(x) + Model().scaled(x)
    print("sum", round(float(y.sum()), 6), *sys.argv[1:], __name__, __file__)
    print(type(hot).__name__, type(tools.shift).__name__, next(numbers()))

if __name__ == "__main__":
    main()
"""
TOOLS = """
def shift(x):
    return x + 1
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(npaccel.__file__).parent.parent)}


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "tools.py").write_text(TOOLS)
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    yield path
    sys.modules.pop("tools", None)


def python(*args, **options):
    return subprocess.run(
        [sys.executable, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        **options,
    )


def invoke(*args):
    with npaccel.options(backend="eager"):
        return CliRunner().invoke(cli.main, list(map(str, args)))


def test_output_is_that_of_python(script):
    plain = python(script, "a", "-b")
    result = invoke("run", "--jit", "hot", "--jit", "tools:shift", script, "a", "-b")
    assert result.exit_code == plain.returncode == 0
    wanted = plain.stdout.splitlines()
    got = result.stdout.splitlines()
    assert got[0] == wanted[0]
    assert got[1] == "Jitted Jitted 1"
    assert wanted[1] == "function function 1"
    assert "hot: 1 graph" in result.stderr
    assert "tools:shift: not called, or only by other compiled functions" in result.stderr


def test_every_option_of_jit_is_one_of_the_command_line():
    assert set(jit_options._HELP) == {field.name for field in dataclasses.fields(Options)}
    line = (
        "--device cpu --default-float float64 --narrow-inputs --strict --no-dynamic --loops numba "
        "--rng device --verify warn --no-cache --backend eager --compile now --static-argname n "
        "--static-argname m"
    )
    found = jit_options.parsed(line, "run")
    assert found == {
        "device": "cpu", "default_float": "float64", "narrow_inputs": True, "strict": True,
        "dynamic": False, "loops": "numba", "rng": "device", "verify": "warn", "cache": False,
        "backend": "eager", "compile": "now", "static_argnames": ("n", "m"),
    }  # fmt: skip
    npaccel.jit(lambda n, m: n + m, **found)
    assert jit_options.parsed(" ".join(jit_options.flags(found)), "run") == found
    assert jit_options.parsed("--verify", "run") == {"verify": True}
    assert jit_options.parsed("", "run") == {}


def test_close_names_are_suggested(script):
    assert "did you mean 'hot'?" in invoke("run", "--jit", "hott", script).stderr
    assert "--strict" in invoke("run", "--stict", script).stderr


def test_methods_and_what_is_not_called(script):
    targets = ("Model.cube", "__main__:Model.scaled", "numbers")
    flags = [flag for target in targets for flag in ("--jit", target)]
    result = invoke("run", *flags[:4], script)
    assert result.exit_code == 0
    assert "Model.cube: 1 graph" in result.stderr
    assert "Model.scaled: 1 graph" in result.stderr
    assert not invoke("run", "-q", "--jit", "hot", script).stderr


def test_a_page_is_written(script, tmp_path):
    page = tmp_path / "report.html"
    assert invoke("run", "--jit", "hot", "--html", page, script).exit_code == 0
    assert "npaccel-report" in page.read_text()


def test_arguments_behind_two_dashes(script):
    result = invoke("run", "--jit", "hot", script, "--", "--size", "3")
    assert "--size 3 __main__" in result.stdout


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("nothing", "defines no function 'nothing'; its functions are: Model.cube, Model.scaled"),
        ("other:f", "other:f wasn't found; the script imports no module other"),
        ("tools:nothing", "tools:nothing wasn't found"),
    ],
)
def test_functions_that_are_not_there(script, target, told):
    result = invoke("run", "--jit", target, script)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise SystemExit(5)", 5),
        ("raise SystemExit", 0),
        ("raise SystemExit('no')", 1),
        ("1 / 0", 1),
        ("def f(:", 1),
    ],
)
def test_exit_codes_and_errors_are_pythons(tmp_path, body, code):
    path = tmp_path / "stops.py"
    path.write_text(body + "\n")
    plain = python(path)
    ran = python("-m", "npaccel", "run", path)
    assert ran.returncode == plain.returncode == code
    assert ran.stderr == plain.stderr


def test_main_and_argv_come_back(script):
    main, argv = sys.modules["__main__"], sys.argv
    source = Source(lambda *_: False, lambda *_: False, lambda *_: None)
    assert run_script(str(script), ["x"], source) == 0
    assert sys.modules["__main__"] is main
    assert sys.argv is argv


HEAVY = """
import numpy as np

def weights(x):
    return np.exp(-x * x)

def step(x):
    w = weights(x)
    for _ in range(40):
        w = w * 0.5 + x
    return w

def talk(x):
    total = x.sum()
    print(total > 0)
    x = np.cosh(np.arcsinh(np.sinh(np.arctan(x))))
    return np.cosh(np.arcsinh(np.sinh(np.arctan(x))))

def text(n):
    return sum(len(str(i)) for i in range(n))

def main():
    x = np.linspace(-1.0, 1.0, 200_000)
    for _ in range(3):
        step(x)
    talk(x)
    text(20_000)

main()
"""


@pytest.fixture
def heavy(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = tmp_path / "heavy.py"
    path.write_text(HEAVY)
    return path


def test_watching_counts_and_leaves_nothing_behind(heavy):
    profile = Profile()
    profile.run(str(heavy), [])
    seen = {name: one for (_, name), one in profile.watched.items()}
    assert {name: one.calls for name, one in seen.items()} == {
        "weights": 3, "step": 3, "talk": 1, "text": 1, "main": 1,
    }  # fmt: skip
    assert seen["weights"].callers == {seen["step"]}
    assert seen["weights"].outer() == {seen["step"], seen["main"]}
    assert seen["step"].own < seen["step"].seconds <= seen["main"].seconds <= profile.seconds
    assert [one.takes_arrays for one in seen.values()] == [True, True, True, False, False]
    assert seen["step"].function.__globals__["weights"] is seen["weights"].function


def test_the_doctor_finds_the_hot_functions(heavy, capsys):
    with npaccel.options(backend="eager"):
        found = diagnose(str(heavy), [], {})
    findings = {one.target.partition(":")[2]: one for one in found.findings}
    assert {"step", "talk"} <= set(findings)
    assert not findings["main"].jit if "main" in findings else True
    assert findings["step"].state == "compiled"
    assert findings["talk"].state == "compiled in part"
    assert "move the output behind the call" in findings["talk"].advice
    assert len(capsys.readouterr().out.split()) == 1  # The script's own, not the trials'.
    data = json.loads(found.to_json())
    assert data["targets"] == found.targets
    assert "what to change:" in str(found)


@pytest.mark.parametrize(
    ("text", "flags", "code"),
    [
        ("x = 1", (), 0),
        ("raise SystemExit(7)", (), 1),
        ("x = 1", ("--expect", "3"), 4),
        ("x = 1", ("--what",), 2),
    ],
)
def test_exit_codes_of_the_doctor(tmp_path, text, flags, code, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = tmp_path / "short.py"
    path.write_text(text)
    assert invoke("doctor", *flags, path).exit_code == code


def test_a_difference_exits_with_3(heavy, monkeypatch):
    import dataclasses

    from npaccel import _numpy
    from npaccel._numpy.core import table

    _numpy.load()
    row = table.row_of(np.exp)
    wrong = dataclasses.replace(row, implementation=lambda x: row.implementation(x) + 1)
    monkeypatch.setitem(table._by_object, id(np.exp), wrong)
    result = invoke("doctor", heavy)
    assert result.exit_code == 3
    assert "it isn't as in NumPy at line 5" in result.output


def test_main_programs_are_told_to_be_divided(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = tmp_path / "whole.py"
    path.write_text(
        textwrap.dedent("""
        import numpy as np
        def main():
            x = np.linspace(0, 1, 300_000)
            for _ in range(20):
                x = np.sin(x) + 1
        main()
        """)
    )
    result = invoke("doctor", path)
    assert "main: move what it does with arrays into a function" in result.output
    assert "with these lines changed, ask again: main (" in result.output


def test_functions_of_tables_are_tried_if_they_are_not_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = tmp_path / "tables.py"
    path.write_text(
        textwrap.dedent("""
        import numpy as np
        import pandas as pd
        def waves(frame):
            x = frame["x"].to_numpy()
            for _ in range(20):
                x = np.sin(x) + 1
            return x
        print(waves(pd.DataFrame({"x": np.linspace(0, 1, 300_000)})).sum())
        """)
    )
    untried = "waves: leave it: none of its calls had arguments"
    found = invoke("doctor", path).output
    assert "compiled in part" in found
    assert untried not in found
    monkeypatch.setattr(profile_calls, "_MAX_BYTES", 1_000_000)
    assert untried in invoke("doctor", path).output


FLAT = """
'''Heat in a plate.'''
from __future__ import annotations
import numpy as np

n = 80
u = np.zeros((n, n))
u[0] = 100.0
alpha = 0.1
name = "heat"

for step in range(200):
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    # Stable for a quarter and less.
    u[1:-1, 1:-1] += alpha * lap

    last = step

if __name__ == "__main__":
    mean = 0.0
    for k in range(200):
        mean = 0.5 * mean + np.sin(u).mean()
    print(name, round(u.mean(), 9), round(mean, 9), last)
"""


def _plain(text, folder):
    path = folder / "plain.py"
    path.write_text(text)
    return python(path).stdout


@pytest.fixture
def all_pays(monkeypatch):
    """Have every function found faster compiled, whatever the machine says."""
    monkeypatch.setattr(Trial, "speed_up", property(lambda self: 2.0))


@pytest.mark.usefixtures("all_pays")
def test_the_doctor_makes_functions_of_a_flat_script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path, changed = tmp_path / "flat.py", tmp_path / "changed.py"
    path.write_text(FLAT)
    result = invoke("doctor", "--write", changed, path)
    assert result.exit_code == 0, result.output
    assert "make a function of lines 12-17" in result.output
    assert "make a function of lines 21-22" in result.output
    assert '+@npaccel.jit(compile="now")\n+def loop(alpha, u):' in result.output
    assert result.output.count("heat ") == 1  # The script's own output, once.
    text = changed.read_text()
    assert "    # Stable for a quarter and less.\n" in text
    assert text.index("import numpy") < text.index("import npaccel") < text.index("n = 80")
    assert "last = loop(alpha, u)" in text
    assert "    mean = loop_2(mean, u)" in text
    with npaccel.options(backend="eager"):
        eager = text.replace('compile="now"', 'backend="eager", default_float="float64"')
    assert _plain(eager, tmp_path) == _plain(FLAT, tmp_path)


@pytest.mark.usefixtures("all_pays")
def test_the_doctor_takes_the_cells_of_a_notebook(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    cells = [
        ("code", ["%matplotlib inline\n", "import numpy as np\n"]),
        ("markdown", ["for x in 3\n"]),
        ("code", ["x = np.linspace(0, 1, 50_000)"]),
        ("code", ["for k in range(60):\n", "    x = np.sin(x) * 1.1 + np.cos(x * k)\n"]),
        ("code", ["%%timeit\n", "x.mean()"]),
        ("code", ["y = x.mean()"]),
    ]
    path = tmp_path / "notes.ipynb"
    made = [{"cell_type": kind, "source": source} for kind, source in cells]
    path.write_text(json.dumps({"cells": made, "nbformat": 4}))
    result = invoke("doctor", path)
    assert result.exit_code == 0, result.output
    assert "+def loop(x):" in result.output
    assert "+x = loop(x)" in result.output


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # A function of the script would read what the name stood for before.
        ("def f():\n    return x\nx = 1\nfor i in range(3):\n    x = f() + 1\n", None),
        # What writes or asks stays where it is.
        ("x = 1\nfor i in range(3):\n    x += 1\n    print(x)\n", None),
        ("import os\n", None),
        # What isn't read elsewhere isn't returned; what isn't set before isn't given.
        (
            "x = 1\nfor i in range(3):\n    y = x + i\n    z = y\nprint(z)\n",
            "x = 1\n\n\ndef loop(x):\n    for i in range(3):\n        y = x + i\n        z = y\n"
            "    return z\n\n\nz = loop(x)\nprint(z)\n",
        ),
        # A name that is taken.
        (
            "loop = 2\nwhile loop < 9:\n    loop += 1",
            "loop = 2\n\n\ndef loop_2(loop):\n    while loop < 9:\n        loop += 1\n\n\n"
            "loop_2(loop)\n",
        ),
        # Statements in a row are one function.
        (
            "x = 1\ny = x + 1\nz = y * y\nprint(z)\n",
            "\n\ndef step():\n    x = 1\n    y = x + 1\n    z = y * y\n    return z\n\n\n"
            "z = step()\nprint(z)\n",
        ),
    ],
)
def test_which_statements_become_functions(text, wanted):
    space = {}
    exec(text.replace("print(x)", "pass"), space)
    seconds = {
        node.lineno: 1.0 for node in ast.parse(text).body if "print" not in ast.unparse(node)
    }
    if wanted is None or not wanted.startswith("\n"):
        seconds[1] = 0.0
    made = flat_scripts.rewritten(text, seconds, space, 0.5)
    assert (made and made.text) == wanted


def test_auto_asks_the_doctor(heavy, monkeypatch):
    from npaccel._tools import commands

    monkeypatch.setattr(commands, "_advised", lambda *_: (["__main__:step"], True))
    result = invoke("run", "--auto", heavy)
    assert result.exit_code == 0
    assert "step: " in result.stderr


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that can be run, and imports its parts before that."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "waves_of_it"
    folder.mkdir()
    parts = {
        "__init__": "from .steps import advance\n",
        "steps": "def advance(x):\n    return x * 0.5 + 1\n",
        "__main__": (
            "import sys\nimport numpy as np\nfrom . import advance\n\n"
            "def last(x):\n    return advance(x)[-1]\n\n"
            "print(last(np.ones(4)), *sys.argv, __spec__.name, __package__, __name__)\n"
        ),
    }
    for name, text in parts.items():
        (folder / f"{name}.py").write_text(text)
    yield folder
    for name in [one for one in sys.modules if one.startswith("waves_of_it")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["waves_of_it", "waves_of_it.__main__"])
def test_modules_run_as_under_python(package, name):
    plain = python("-m", name, "a", "-b", cwd=package.parent)
    result = invoke(
        "run", "--jit", "last", "--jit", "waves_of_it.steps:advance", "-m", name, "a", "-b"
    )
    assert plain.returncode == result.exit_code == 0, result.output
    assert result.stdout == plain.stdout
    assert "last: 1 graph" in result.stderr
    with npaccel.options(backend="eager"):
        found = invoke("doctor", "-m", name)
    assert found.exit_code == 0
    assert found.stdout.splitlines()[2].startswith(f"-m {name}: ")


@pytest.mark.parametrize("name", ["waves_of_it.nothing", "nothing_at_all", "itertools", "email"])
def test_modules_that_cannot_be_run(package, name):
    result = invoke("run", "-m", name)
    assert result.exit_code == 2
    assert name in result.output
    assert "waves_of_it.steps" not in sys.modules


@pytest.mark.parametrize(("seconds", "is_now"), [(0.5, True), (50.0, False)])
def test_short_runs_are_compiled_from_the_first_call(heavy, seconds, is_now):
    with npaccel.options(backend="eager"):
        profile = Profile()
        profile.run(str(heavy), [])
    watched = profile.watched["__main__", "step"]
    watched.seconds = seconds
    trial = Trial(watched)
    decorator = doctor._decorator(trial)
    assert (decorator == '@npaccel.jit(compile="now")') == is_now
    finding = doctor.Finding("a:f", "", 1, 2, 1.0, "compiled", 9.0, "", True, decorator)
    told = str(doctor.Diagnosis("script.py", 9.0, 0, (finding,), 9.0))
    assert ("npaccel run --compile now --jit a:f script.py" in told) == is_now


@pytest.mark.parametrize(
    ("seconds", "speed_up", "told"),
    [
        (9.0, 9.0, "this one would take 2 s from the second on, 4.5 times as fast"),
        (1.0, 9.0, "it pays for longer runs than this one"),
        (1.05, 20.0, "it pays for longer runs than this one"),
    ],
)
def test_the_start_of_a_run_is_counted(seconds, speed_up, told):
    finding = doctor.Finding("a:f", "", 1, 2, 1.0, "compiled", 9.0, "", True)
    found = doctor.Diagnosis("script.py", seconds, 0, (finding,), speed_up, start=1.0)
    assert f"with npaccel each run starts and ends 1 s later: {told}" in str(found)


def test_what_is_compiled_in_each_run_is_counted():
    finding = doctor.Finding("a:f", "", 1, 2, 1.0, "compiled in part", 9.0, "", True)
    found = doctor.Diagnosis("script.py", 9.0, 0, (finding,), 9.0, start=1.0, compiling=2.5)
    assert found.seconds_then == 4.5
    assert "aren't kept on disk, take 2.5 s: this one would take 4.5 s from the second on" in str(
        found
    )


def test_what_compiles_for_longer_than_it_saves_is_not_chosen(monkeypatch):
    watched = Watched("__main__", "f", lambda x: x)
    watched.seconds = watched.own = 2.0
    monkeypatch.setattr(Trial, "speed_up", property(lambda self: 4.0))
    short, long = Trial(watched, compiling=1.6), Trial(watched, compiling=1.4)
    assert doctor._chosen([short]) == []
    assert doctor._chosen([long]) == [long]
    found = doctor.Diagnosis("script.py", 2.0, 0, (), 4.0, start=1.0, compiling=1.4)
    assert "with those lines as advised all of it is kept" in " ".join(found._told_of_start())


@pytest.mark.parametrize(("calls", "is_other"), [("f(x, 2)", False), ("f(x, i)", True)])
def test_numbers_that_change_compile_once_more(tmp_path, calls, is_other):
    script = tmp_path / "script.py"
    lines = ["import numpy as np", "def f(x, n):", "    print(end='')", "    return np.sin(x) * n"]
    lines += ["x = np.ones(10)", "for i in range(4):", f"    {calls}"]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    profile = Profile()
    profile.run(str(script), [])
    watched = profile.watched["__main__", "f"]
    assert watched.has_other_numbers == is_other
    trial = tried(watched, {"backend": "eager"})
    assert trial.check.ok
    assert trial.compiling > 0  # Subgraphs around `print` aren't kept.
    assert trial.saved_each_run < trial.saved


def test_the_end_of_a_process_counts():
    start, importing = doctor._start(with_compiler=True)
    assert start > 0
    assert importing > 0
    assert doctor._start(with_compiler=False)[1] == 0


def test_runs_in_which_nothing_pays_are_left_alone(monkeypatch):
    watched = Watched("__main__", "f", lambda x: x)
    watched.seconds = watched.own = 0.5
    profile = Profile()
    profile.seconds, profile.exit_code = 10.0, 0
    monkeypatch.setattr(doctor, "_candidates", lambda profile: [watched])
    monkeypatch.setattr(doctor, "tried", lambda watched, options: Trial(watched))
    monkeypatch.setattr(Trial, "speed_up", property(lambda self: 3.0))
    monkeypatch.setattr(doctor, "_finding", lambda trial, chosen, *rest: (trial, chosen))
    found = doctor._diagnosed(profile, "script.py", None, {}, iter)
    assert found.speed_up == 1.0
    assert found.start == 0.0
    assert [chosen for _, chosen in found.findings] == [[]]
