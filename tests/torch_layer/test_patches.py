"""The table of what is replaced in torch: complete, applied as a whole or not at all."""

import ast
import contextlib
import importlib
import types
from pathlib import Path

import children
import pytest
import torch

import npaccel
from npaccel._torch import SUPPORTED, patching
from npaccel._torch.importing import load_compiler
from npaccel._torch.patching import Patch, patched, registered
from npaccel.errors import UnsupportedTorchError

load_compiler()
from npaccel._torch import patches, signatures  # noqa: E402 (imports the compiler)
from npaccel._torch.fx_passes.passes import AFTER_CAPTURE  # noqa: E402
from npaccel._torch.inductor.passes import ON_ATEN, PASSES  # noqa: E402

PACKAGE = Path(npaccel.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted((PACKAGE / "_torch").rglob("*.py"))
#: What is assigned to objects of torch, but replaces nothing, and why.
ALLOWED = {
    ("leftovers.py", "graph_module._loader.eval_cache[name]"): "drops what a compilation has left",
    ("leftovers.py", "dynamo_utils.graph_break_reasons[:-_NOTES]"): "drops what is left",
    ("leftovers.py", "codes.seen[:]"): "drops what is left",
    ("leftovers.py", "calls[call]"): "drops what a compilation has left",
    ("leftovers.py", "counts[frame]"): "drops what a compilation has left",
    ("leftovers.py", "seconds[:-_NOTES]"): "drops what a compilation has left",
    ("leftovers.py", "registry[key]"): "drops a generated module",
    ("importing.py", "kinds[name]"): "drops what an import that failed has left",
    ("install.py", "trace_rules.SKIP_DIRS[:]"): "puts back what was there before",
    ("bounds_checks.py", "V.kernel.compute"): "where the kernel that is written puts its lines",
}


# -- Whether all of it is in the table ------------------------------------------------------


def root_of(node):
    """The name that an expression begins with, through attributes and items alone."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class Assignments(ast.NodeVisitor):
    """Collect assignments to what was imported from torch, by whatever name."""

    def __init__(self):
        self.names = set()
        self.found = []

    def visit_Import(self, node):
        self.names |= {
            (alias.asname or alias.name).partition(".")[0]
            for alias in node.names
            if alias.name.partition(".")[0] == "torch"
        }

    def visit_ImportFrom(self, node):
        if node.module.partition(".")[0] == "torch":
            self.names |= {alias.asname or alias.name for alias in node.names}

    def is_torchs(self, node):
        if isinstance(node, ast.Tuple | ast.List):
            return any(map(self.is_torchs, node.elts))
        if isinstance(node, ast.Call):  # As ``mapping.values()``, or ``zip(kinds, others)``.
            method = isinstance(node.func, ast.Attribute) and self.is_torchs(node.func.value)
            goes_on = isinstance(node.func, ast.Name) and node.func.id in {"list", "vars", "zip"}
            return (method and node.func.attr in {"items", "keys", "values"}) or (
                goes_on and any(map(self.is_torchs, node.args))
            )
        return root_of(node) in self.names

    def note(self, target):
        for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(one, ast.Attribute | ast.Subscript) and self.is_torchs(one):
                self.found.append(ast.unparse(one))

    def follow(self, target, value):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its_value in zip(target.elts, value.elts, strict=True):
                self.follow(one, its_value)
        elif self.is_torchs(value):
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(one, ast.Name):
                    self.names.add(one.id)

    def visit_Assign(self, node):
        for target in node.targets:
            self.note(target)
            self.follow(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        self.note(node.target)
        if node.value is not None:
            self.follow(node.target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.note(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node):
        for target in node.targets:
            self.note(target)

    def visit_For(self, node):
        self.follow(node.target, node.iter)
        self.generic_visit(node)

    def visit_Call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"setattr", "delattr"} and self.is_torchs(node.args[0]):
            self.found.append(ast.unparse(node))
        self.generic_visit(node)


def assignments(source):
    visitor = Assignments()
    visitor.visit(ast.parse(source))
    return visitor.found


@pytest.mark.parametrize(
    "line",
    [
        "guards.from_numpy = f",
        "setattr(guards, name, f)",
        "delattr(guards, name)",
        "del guards.from_numpy",
        "guards.from_numpy, x = f, 1",
        "guards.table['x'] = f",
        "owner: Any = guards.Owner\nowner.method = f",
        "one, other = guards.One, guards.Other\nother.method = f",
        "for kind in (guards.One, guards.Other):\n    kind.method = f",
        "kinds = [guards.One]\nfor kind, x in zip(kinds, y):\n    setattr(kind, 'method', f)",
        "def patch():\n    from torch._dynamo import codegen\n    codegen.method += f",
    ],
)
def test_an_assignment_is_seen(line):
    assert len(assignments(f"from torch._dynamo import guards\n{line}")) == 1


def test_nothing_is_replaced_past_the_table():
    found = {(file.name, text) for file in FILES for text in assignments(file.read_text("utf-8"))}
    assert found == set(ALLOWED), "declare a Patch, and let `patched` or `apply` replace it"


def declared_in(module):
    for value in vars(module).values():
        if isinstance(value, tuple) and value and all(isinstance(one, Patch) for one in value):
            yield from value


def test_each_patch_is_in_the_table():
    table = set(map(id, patches.PATCHES))
    declaring = [file for file in FILES if "Patch(" in file.read_text("utf-8")]
    for file in declaring:
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        missing = [
            one for one in declared_in(importlib.import_module(module)) if id(one) not in table
        ]
        assert not missing, (module, missing)
    assert len(declaring) > 30


def test_each_patch_is_once_in_the_table():
    assert len(set(map(id, patches.PATCHES))) == len(patches.PATCHES)


# -- Rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("patch", patches.PATCHES, ids=lambda patch: patch.target)
def test_row(patch):
    assert (ROOT / patch.test).is_file()
    assert "def test" in (ROOT / patch.test).read_text("utf-8")
    assert patch.why
    assert "\n" not in patch.why
    if patch.is_applied:
        assert patch.file.startswith(("torch/", "npaccel/"))
        assert (Path(torch.__file__).parents[1] / patch.file).is_file() or (
            ROOT / patch.file
        ).is_file()


def test_releases_of_rows_are_supported():
    releases = [f"2.{minor}" for minor in range(SUPPORTED[0][1], SUPPORTED[1][1])]
    for patch in patches.PATCHES:
        for end in filter(None, patch.only.split("-")):
            assert end in releases, patch.target
        assert set(patch.read.split(", ")) <= set(releases), patch.target


@pytest.mark.parametrize(
    ("only", "version", "applied"),
    [
        ("", "2.11.0", True),
        ("2.12-", "2.11.1", False),
        ("2.12-", "2.12.0+cpu", True),
        ("2.12-", "2.13.0", True),
        ("2.11-2.12", "2.12.1", True),
        ("2.11-2.12", "2.13.0", False),
        ("2.11", "2.11.0", True),
        ("2.11", "2.12.0", False),
    ],
)
def test_releases(only, version, applied, monkeypatch):
    patching.is_release.cache_clear()
    monkeypatch.setattr(torch, "__version__", version)
    try:
        assert Patch(torch, "x", id, "", "", only=only).is_applied is applied
    finally:
        patching.is_release.cache_clear()


def test_table_as_text():
    rows = patches.rows()
    assert len(rows) == len(patches.PATCHES)
    assert all(isinstance(value, str) for row in rows for value in row.values())
    assert {row["lasts"] for row in rows} == set(patches.GROUPS)
    lines = patches.lines()
    shown = [patch for patch in patches.PATCHES if patch.is_applied]
    assert len(lines) == len(shown) + len(patches.GROUPS)
    assert any("torch._dynamo.guards.from_numpy: " in line for line in lines)


@pytest.mark.parametrize("passes", [AFTER_CAPTURE, ON_ATEN, PASSES])
def test_passes_have_names_and_reasons(passes):
    assert len({one.name for one in passes}) == len(passes)
    assert all(one.why and "\n" not in one.why for one in passes)


SIGNATURES = """
import inspect
import npaccel
from npaccel._torch.importing import load_compiler
load_compiler()
from npaccel._torch import patches, signatures
from npaccel._torch.patching import originals

found = originals(patches.PATCHES)

def plain(function):
    return function.__func__ if isinstance(function, staticmethod | classmethod) else function

def refused(original, replacement):
    # Calls that the original takes and the replacement does not.
    taken = inspect.signature(plain(original)).parameters.values()
    takes = inspect.signature(replacement, follow_wrapped=False)
    kinds = inspect.Parameter
    by_place = [one for one in taken if one.kind in (
        kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in by_place if one.default is one.empty]
    by_name = [one.name for one in taken if one.default is not one.empty or
               one.kind is kinds.KEYWORD_ONLY]
    if any(one.kind is kinds.VAR_POSITIONAL for one in taken):
        return None  # It doesn't say what it takes.
    for args, names in ((by_place, ()), (needed, by_name)):
        try:
            takes.bind(*args, **dict.fromkeys(names))
        except TypeError as error:
            return str(error)

refusals = {}
for patch in patches.PATCHES:
    original = found.get(patch.target)
    if not patch.is_applied or not callable(plain(original)):
        continue
    if signatures.signature_of(original).endswith(signatures.UNKNOWN):
        continue
    needed = [one for one in inspect.signature(patch.change).parameters.values()
              if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    given = max(len(needed) - 1, 0)  # Which `Patch.given` passes.
    replacement = patch.change(*[""] * given, plain(original))
    if inspect.isfunction(replacement) and (why := refused(original, replacement)):
        refusals[patch.target] = why
answer(refusals=refusals, signatures={
    target: signatures.signature_of(original) for target, original in found.items()})
"""


@pytest.fixture(scope="module")
def asked():
    return children.run_prepared(SIGNATURES)


def test_replacements_take_what_their_originals_take(asked):
    assert asked["refusals"] == {}


def test_signatures_are_those_on_file(asked):
    """`tools/torch_signatures.py` writes the file."""
    if not npaccel._torch.is_tested():
        pytest.skip(f"torch {torch.__version__} is untested")
    release = ".".join(torch.__version__.split(".")[:2])
    assert asked["signatures"] == signatures.recorded()[release]


# -- Replacing -------------------------------------------------------------------------------


class Base:
    def inherited(self):
        return "base"


class Owner(Base):
    def method(self):
        return "original"

    @staticmethod
    def static():
        return "original"

    @classmethod
    def of_class(cls):
        return f"original of {cls.__name__}"


class Sub(Owner):
    pass


def replacing(name, **options):
    def change(original):
        return lambda *args: f"replaced {original(*args)}"

    return Patch(Owner, name, change, "of a test", "", **options)


def snapshot():
    return dict(vars(Owner))


def test_replaced_for_a_block_and_put_back():
    before = snapshot()
    with patched([replacing("method"), replacing("static"), replacing("inherited")]):
        assert Owner().method() == "replaced original"
        assert Owner.static() == "replaced original"
        assert Owner().inherited() == "replaced base"
    assert snapshot() == before


def test_methods_stay_of_their_kind():
    before = snapshot()
    with patched([replacing("static"), replacing("of_class")]):
        for owner in (Sub, Sub()):
            assert owner.static() == "replaced original"
            assert owner.of_class() == "replaced original of Sub"
    assert snapshot() == before


def test_the_second_of_two_wraps_the_first():
    before = snapshot()
    with patched([replacing("method"), replacing("method")]):
        assert Owner().method() == "replaced replaced original"
    assert snapshot() == before


def test_put_back_when_the_block_raises():
    before = snapshot()
    with pytest.raises(ZeroDivisionError), patched([replacing("method")]):
        1 / 0  # noqa: B018
    assert snapshot() == before


def test_what_is_missing_is_an_error():
    before = snapshot()
    with (
        pytest.raises(UnsupportedTorchError, match=r"has no .*Owner\.nothing.*of a test"),
        patched([replacing("method"), replacing("nothing")]),
    ):
        pass
    assert snapshot() == before


def test_what_only_others_have_is_left_out():
    with patched([replacing("nothing", only="2.1-2.2")]):
        assert not hasattr(Owner, "nothing")


def test_what_should_be_new_mustnt_be_there():
    new = Patch(Owner, "added", lambda _: 3, "of a test", "", is_new=True)
    with patched([new]):
        assert Owner.added == 3
        with pytest.raises(UnsupportedTorchError, match="an attribute of its own"), patched([new]):
            pass
        assert Owner.added == 3
    assert not hasattr(Owner, "added")


def test_a_missing_owner_is_an_error():
    lost = Patch("torch._dynamo.guards.NoSuchClass", "x", id, "of a test", "")
    with (
        pytest.raises(UnsupportedTorchError, match=r"no torch._dynamo.guards.NoSuchClass"),
        patched([lost]),
    ):
        pass
    assert lost.file == "torch/_dynamo/guards.py"


def test_an_untested_release_has_the_parameters_of_the_newest(monkeypatch):
    known = {f"{__name__}.Owner.method": "(self)", f"{__name__}.Owner.static": "(a)"}
    monkeypatch.setattr(patching, "is_tested", lambda: False)
    monkeypatch.setattr(patching, "_seen", set())
    monkeypatch.setattr(signatures, "newest", known.get)
    before = snapshot()
    with patched([replacing("method"), replacing("method")]):
        assert Owner().method() == "replaced replaced original"
    with (
        pytest.raises(UnsupportedTorchError, match=r"\(\) for .*static instead of \(a\)"),
        patched([replacing("static")]),
    ):
        pass
    assert snapshot() == before


def test_what_a_change_raises_is_told():
    def failing(original):
        raise ValueError("no way")

    before = snapshot()
    broken = Patch(Owner, "method", failing, "of a test", "")
    with (
        pytest.raises(UnsupportedTorchError, match=r"can't be replaced.*no way"),
        patched([replacing("static"), broken]),
    ):
        pass
    assert snapshot() == before


def test_arguments_come_before_the_original():
    patch = Patch(Owner, "method", lambda a, b, original: lambda self: (a, b), "", "")
    with patched([patch.given(1, 2)]):
        assert Owner().method() == (1, 2)


def test_registered_entries_are_taken_back():
    registry = {"a": 1}
    with contextlib.suppress(ZeroDivisionError), registered(registry, {"a": 2, "b": 3}):
        assert registry == {"a": 2, "b": 3}
        1 / 0  # noqa: B018
    assert registry == {"a": 1}


def test_file_and_name_of_a_module():
    patch = Patch(types, "x", id, "", "")
    assert (patch.target, patch.module) == ("types.x", "types")


# -- Installing ------------------------------------------------------------------------------

INSTALL = """
import logging
import torch._dynamo.trace_rules as trace_rules
from npaccel._torch.importing import load_compiler
load_compiler()
from npaccel._torch.dynamo import install
from npaccel._torch.patching import Patch
from npaccel.errors import UnsupportedTorchError

def owner(patch):
    import importlib
    if not isinstance(patch.owner, str):
        return patch.owner
    module, _, name = patch.owner.rpartition(".")
    return getattr(importlib.import_module(module), name)

ROWS = [patch for patch in install.PATCHES if patch.is_applied]

def now():
    attributes = [vars(owner(patch)).get(patch.name, "nothing") for patch in ROWS]
    loggers = [logging.getLogger(name) for name in (
        "torch._dynamo.convert_frame", "torch._subclasses.fake_tensor")]
    return attributes, [list(one.filters) for one in loggers], list(trace_rules.SKIP_DIRS)

def same(one, other):
    first, second = ([id(x) for x in some[0]] for some in (one, other))
    return first == second and one[1:] == other[1:]

before = now()
all_of_them = install.PATCHES
"""


@pytest.mark.slow
def test_installed_and_ours():
    found = children.run_prepared(
        INSTALL
        + """
install.install()
after = now()
theirs = [p.target for p, old, new in zip(ROWS, before[0], after[0]) if old is new]
install.install()
answer(theirs=theirs, twice=not same(after, now()), count=len(ROWS))
"""
    )
    assert found["theirs"] == []
    assert not found["twice"]
    assert found["count"] > 80


@pytest.mark.slow
@pytest.mark.parametrize("place", ["first", "middle", "last", "behind all"])
def test_installed_as_a_whole_or_not_at_all(place):
    found = children.run_prepared(
        INSTALL
        + """
place = sys.argv[1]
failing = Patch(trace_rules, "nothing_of_torchs", id, "of a test", "")
at = {"first": 0, "middle": len(all_of_them) // 2}.get(place, len(all_of_them))
install.PATCHES = (*all_of_them[:at], failing, *all_of_them[at:])
left = install._LEFT_TO_PYTHON
if place == "behind all":
    install.PATCHES, install._LEFT_TO_PYTHON = all_of_them, (*left, "npaccel.no_such_module")
errors = []
for _ in range(2):
    try:
        install.install()
    except (UnsupportedTorchError, ModuleNotFoundError) as error:
        errors.append(str(error))
undone = same(before, now())
install.PATCHES, install._LEFT_TO_PYTHON = all_of_them, left
import npaccel
f = npaccel.jit(lambda x: np.cbrt(x) + np.r_[x, 1.0].sum(), backend="eager", strict=True)
x = np.array([-8.0, 27.0])
answer(errors=errors, undone=undone, right=bool(np.array_equal(f(x), np.cbrt(x) + 20)))
""",
        place,
    )
    assert len(found["errors"]) == 2
    if place != "behind all":
        for text in found["errors"]:
            assert "torch._dynamo.trace_rules.nothing_of_torchs" in text
            assert torch.__version__ in text
    assert found["undone"]
    assert found["right"]
