"""The rule that one subpackage touches torch's private parts finds what it should."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def rule():
    spec = importlib.util.spec_from_file_location("check_imports", ROOT / ".ci/check_imports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch._dynamo", ["torch._dynamo"]),
        ("import torch._inductor.config as c", ["torch._inductor.config"]),
        ("from torch._dynamo import config", ["torch._dynamo.config"]),
        ("from torch import _C", ["torch._C"]),
        ("from torch.utils import _pytree as p", ["torch.utils._pytree"]),
        ("import torch.fx.experimental.proxy_tensor", ["torch.fx.experimental.proxy_tensor"]),
        ("from torch.fx import experimental", ["torch.fx.experimental"]),
        ("import torch\ndef f():\n    return torch._C._aoti", ["torch._C._aoti"]),
        ("import torch as t\nt._dynamo.reset()", ["torch._dynamo.reset"]),
        ("from torch import fx\nfx.experimental.f(1)", ["torch.fx.experimental.f"]),
        ("def f():\n    return t._C\nimport torch as t", ["torch._C"]),
        ("import importlib\nimportlib.import_module('torch._numpy')", ["torch._numpy"]),
        ("loaded('torch._dynamo.exc').Unsupported", ["torch._dynamo.exc"]),
    ],
)
def test_private_uses_are_found(rule, source, names):
    assert [name for _, name in rule.violations(source)] == names


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.compile\ntorch.__version__",
        "import torch.fx\ntorch.fx.Graph()",
        "from npaccel import _context\n_context._private",
        "from . import _dynamo\n_dynamo.x",
        "import torchvision\ntorchvision._private",
        "torch_like = object()\ntorch_like._x",
    ],
)
def test_public_uses_are_not(rule, source):
    assert rule.violations(source) == []


def test_the_allowed_subpackage_alone_is_exempt(rule, tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("import torch._dynamo\n", encoding="utf-8")
    assert rule.main([str(tmp_path)]) == 1
    assert f"{bad}:1: torch._dynamo is private" in capsys.readouterr().out


def test_the_package_keeps_the_rule(rule):
    assert list(rule.check([ROOT / "npaccel", ROOT / "examples"])) == []


LAYERED = {
    "npaccel/__init__.py": "",
    "npaccel/_process/__init__.py": "",
    "npaccel/_process/fork.py": "import threading\n",
    "npaccel/_compiler/__init__.py": "",
    "npaccel/_compiler/compile.py": "from npaccel._process import fork\n",
}


def _package(folder, files):
    for name, text in (LAYERED | files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_imports_downward_are_fine(rule, tmp_path):
    assert list(rule.upward(_package(tmp_path, {}), {})) == []
    assert list(rule.circles(tmp_path, {})) == []


@pytest.mark.parametrize(
    "text",
    [
        "from npaccel._compiler import compile\n",
        "import npaccel._compiler.compile\n",
        "def f():\n    from npaccel._compiler.compile import x\n",
        "if TYPE_CHECKING:\n    from npaccel._compiler import compile\n",
    ],
)
def test_imports_upward_are_found(rule, tmp_path, text):
    _package(tmp_path, {"npaccel/_process/fork.py": text})
    lines = list(rule.upward(tmp_path, {}))
    assert len(lines) == 1
    assert lines[0].startswith("npaccel/_process/fork.py:")
    assert list(rule.upward(tmp_path, {("_process", "_compiler"): "why"})) == []
    assert len(list(rule.circles(tmp_path, {}))) == 1


def test_exceptions_that_are_none_any_more_are_found(rule, tmp_path):
    _package(tmp_path, {})
    assert len(list(rule.upward(tmp_path, {("_process", "_compiler"): "why"}))) == 1
    assert len(list(rule.circles(tmp_path, {"npaccel._process.fork": "why"}))) == 1


def test_packages_of_npaccel_import_downward(rule):
    assert list(rule.upward(ROOT, rule.UPWARD)) == []
    assert list(rule.circles(ROOT, rule.CIRCLES)) == []


def test_folders_have_at_most_25_modules_and_say_what_they_are():
    for folder in {path.parent for path in (ROOT / "npaccel").rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= 25, folder
        assert '"""' in (folder / "__init__.py").read_text(encoding="utf-8"), folder


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("getattr(error, 'real_stack', None)", ["error.real_stack"]),
        ("hasattr(node.node, 'op_overload')", ["node.node.op_overload"]),
        ("[getattr(self, n) for n in NAMES if hasattr(self, n)]", ["self.n"]),
        ("getattr(getattr(a, 'b', a), 'c', 0)", ["getattr(a, 'b', a).c", "a.b"]),
        ("getattr(error, 'real_stack')", []),
        ("getattr(f, '__name__', '')", []),
        ("getattr(side_effects, 'npaccel_writes', ())", []),
    ],
)
def test_attributes_that_torch_might_lack_unnoticed_are_found(rule, source, found):
    assert [text for _, text in rule.asked(source)] == found


def test_nothing_of_torch_is_asked_for_as_if_it_might_not_be_there(rule, tmp_path):
    assert list(rule.open_probes(ROOT, rule.MAY_LACK)) == []
    assert list(rule.open_probes(ROOT, rule.MAY_LACK | {"_torch.a: b.c": "whose"})) == [
        "MAY_LACK: _torch.a: b.c isn't asked for any more; take the line out"
    ]
    module = tmp_path / "npaccel/_torch/inductor/new.py"
    module.parent.mkdir(parents=True)
    module.write_text("lines = getattr(code, '_lines', [])\n", encoding="utf-8")
    (told,) = rule.open_probes(tmp_path, {})
    assert "new.py:1: code._lines" in told
    assert "MAY_LACK" in told
