"""The list of what a release of torch changes in what npaccel uses."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from npaccel._torch.patching import is_release

ROOT = Path(__file__).resolve().parents[2]

OLD = """
class Base:
    def asked(self, tx): ...
    def kept(self): ...

class Variable(Base):
    def asked(self, tx): return 1
    @staticmethod
    def eq(a, b): ...
    def changed(self): return 1

class Other:
    def __init__(self, fn, obj): ...

def moved(x): ...
def gone(x, y=1): ...
"""
NEW = """
from torch._two import moved

class Base:
    def tp_asked(self, tx): ...
    def kept(self): ...

class Variable(Base):
    def tp_asked(self, tx): return 1
    def tp_getset(self): ...
    @classmethod
    def eq(cls, a, b): ...
    def changed(self): return 2
    def call_pow(self): ...

class Other:
    def __init__(self, im_func, im_self): ...
"""
USES = """
from torch._one import Other, Variable, gone, moved
from torch import _one

class Ours(Variable):
    def asked(self, tx):
        return self.asked_by_nobody

PATCHES = (
    Patch(Variable, "asked", None, "", ""),
    Patch("torch._one.Variable", "eq", None, "", ""),
    Patch(_one.Variable, "changed", None, "", ""),
    Patch(Variable, "call_pow", None, "", "", is_new=True),
    Patch(Variable, "kept", None, "", ""),
    Patch(Variable, "changed", None, "", "", only="2.11-2.12"),
)
"""


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools/torch_release.py"
    spec = importlib.util.spec_from_file_location("torch_release", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_release"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["torch_release"]


def test_each_kind_of_change_is_found(tool, monkeypatch):
    monkeypatch.setattr(tool, "uses", lambda: [tool._uses("npaccel._torch.x", USES)])
    old = tool.Release({"torch/__init__.py": "", "torch/_one.py": OLD})
    new = {"torch/__init__.py": "", "torch/_one.py": NEW, "torch/_two.py": "def moved(x): ..."}
    found = [(one.line, one.kind, one.name) for one in tool.changes(old, tool.Release(new), "2.15")]
    assert found == [
        (2, "gone", "torch._one.gone"),
        (2, "other signature", "torch._one.Other"),
        (6, "gone", "torch._one.Variable.asked"),
        (10, "gone", "torch._one.Variable.asked"),
        (11, "other signature", "torch._one.Variable.eq"),
        (12, "other source", "torch._one.Variable.changed"),
        (13, "exists now", "torch._one.Variable.call_pow"),
        (15, "new methods", "torch._one.Variable"),
    ]


def test_attributes_that_nothing_defines_any_more(tool, monkeypatch):
    source = "def f(tx):\n    return tx.stack.current_exception() or tx.stack.pop()\n"
    monkeypatch.setattr(tool, "uses", lambda: [tool._uses("npaccel._torch.x", source)])
    old = "class Stack:\n    def current_exception(self): ...\n    def pop(self): ...\n"
    found = tool.changes(
        tool.Release({"torch/_dynamo/stack.py": old}),
        tool.Release({"torch/_dynamo/stack.py": "class Stack:\n    pass\n"}),
    )
    assert [(one.kind, one.name) for one in found] == [("gone", "current_exception")]


def test_all_private_names_are_found_in_the_installed_release(tool):
    """A name that the tool doesn't find can't be missed in a later release."""
    release = tool.Release.of(str(Path(torch.__file__).parents[1]), ROOT)
    assert tool.changes(release, release) == []
    names = {name: only for use in tool.uses() for _, name, only in use.private}
    assert len(names) > 300
    lost = {name for name in names if release.find(name) is None}
    assert {name for name in lost if is_used(names[name])} == tool.MADE_AT_IMPORT
    originals = {
        (owner, names): is_used(only) and not is_new
        for use in tool.uses()
        for _, owner, names, only, is_new in use.patches
    }
    assert len(originals) > 100
    lost = {one for one in originals if tool._first(release, *one) is None}
    assert not [one for one in lost if originals[one]]


def is_used(only):
    return not only or is_release(only)


def test_names_that_differ_between_releases_are_known(tool):
    assert tool.renamed()["GETATTR"] == ("tp_getattro_impl", "var_getattr")
    source = """
from torch._one import Variable
from npaccel._torch.dynamo.releases import GETATTR
if is_release("2.14-"):
    from torch._one import Later

PATCHES = (Patch(Variable, GETATTR, None, "", ""),)
"""
    use = tool._uses("npaccel._torch.x", source)
    assert ("torch._one.Later", "2.14-") in {one[1:] for one in use.private}
    assert [names for _, _, names, *_ in use.patches] == [tool.renamed()["GETATTR"]]
