"""The rule that one subpackage touches torch's private parts finds what it should."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
