"""``%load_ext npaccel``: cells are compiled, reports are shown."""

import json

import numpy as np
import pytest

pytest.importorskip("IPython")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from npaccel import Jitted


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns of one that isn't Python's.
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext npaccel\nimport numpy as np, npaccel")
    yield shell
    InteractiveShell.clear_instance()


def run(shell, text):
    with capture_output() as captured:
        result = shell.run_cell(text)
    return result, captured


def test_functions_of_a_cell_are_compiled(shell):
    cell = (
        "%%npaccel --backend eager\ndef f(x):\n    return np.sin(x) + 1\ny = f(np.zeros(3))\ny * 2"
    )
    result, captured = run(shell, cell)
    assert result.success
    assert "array([2., 2., 2.])" in captured.stdout
    assert isinstance(shell.user_ns["f"], Jitted)
    assert isinstance(shell.user_ns["y"], np.ndarray)
    (block,) = shell.user_ns["f"].report().blocks
    assert [line.engine for line in block.lines] == ["", "interpreted"]


def test_a_cell_without_functions_is_compiled_whole(shell):
    shell.user_ns["x"] = np.arange(3.0)
    result, captured = run(shell, "%%npaccel --backend eager\ny = np.sin(x)\nz = y + x\nz.sum()")
    assert result.success
    x = np.arange(3.0)
    assert np.allclose(shell.user_ns["z"], np.sin(x) + x)
    assert isinstance(shell.user_ns["z"], np.ndarray)
    assert "np.float64(4.7507" in captured.stdout
    _, captured = run(shell, "%npaccel report")
    assert "cell: 1 graph" in captured.outputs[0].data["text/plain"]


def test_names_of_comprehensions_and_branches(shell):
    shell.user_ns["x"] = np.arange(3.0)
    shell.user_ns["kept"] = 7
    cell = """%%npaccel --backend eager
parts = [x * i for i in range(3)]
total = sum(parts)
if len(parts) > 5:
    kept = 8
for row in parts:
    last = row + 1"""
    assert run(shell, cell)[0].success
    assert shell.user_ns["total"].tolist() == [0, 3, 6]
    assert shell.user_ns["kept"] == 7
    assert shell.user_ns["last"].tolist() == [1, 3, 5]
    assert "i" not in shell.user_ns


def test_names_that_are_written_before_they_are_read(shell):
    shell.user_ns["total"] = np.ones(2)
    assert run(shell, "%%npaccel --backend eager\ntotal += 1\nother = total * 2")[0].success
    assert shell.user_ns["other"].tolist() == [4, 4]
    assert shell.user_ns["total"].tolist() == [2, 2]


def test_reports(shell):
    run(
        shell, "%%npaccel --backend eager\ndef f(x):\n    return x + 1\ndef g(x):\n    return x - 1"
    )
    run(shell, "f(np.ones(2)), g(np.ones(2))")
    _, captured = run(shell, "%npaccel report")
    assert ["f: 1" in o.data["text/plain"] for o in captured.outputs] == [True, False]
    assert all("npaccel-report" in o.data["text/html"] for o in captured.outputs)
    _, captured = run(shell, "%npaccel report g")
    assert len(captured.outputs) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("%npaccel reports", "write %npaccel report"),
        ("%npaccel report nothing", "nothing isn't a compiled function"),
        ("%%npaccel --wrong\nx = 1", "No such option '--wrong'"),
    ],
)
def test_wrong_usage(shell, text, told):
    result, captured = run(shell, text)
    assert not result.success
    assert told in captured.stderr + captured.stdout


def test_errors_are_the_cells(shell):
    result, captured = run(shell, "%%npaccel --backend eager\ndef f(x):\n    return x\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "1 / 0" in captured.stdout


def test_in_a_real_kernel(tmp_path):
    pytest.importorskip("ipykernel")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "%load_ext npaccel\nimport numpy as np",
        "%%npaccel --backend eager\ndef f(x):\n    return np.sin(x) + np.zeros(3)",
        "f(np.arange(3))",
        "%npaccel report",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=200, kernel_name="python3").execute()
    (shown,) = book.cells[3].outputs
    assert "float32 where NumPy has float64" in shown.data["text/html"]
    json.dumps(nbformat.from_dict(book))
