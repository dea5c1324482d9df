"""A test per touch point with torch's private parts."""

import textwrap
import threading
from pathlib import Path

import children
import numpy as np
import pytest
import torch
from comparing import assert_same
from torch._inductor.codecache import PyCodeCache
from torch._inductor.cpp_builder import CppBuilder

import npaccel
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._runtime.torch import loader
from npaccel._runtime.torch.symbolic_sizes import surely
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo import install as numpy_tracing
from npaccel._torch.dynamo import source_lines as lines
from npaccel._torch.dynamo.numpy import operations as numpy_operations
from npaccel._torch.inductor import compile as inductor
from npaccel._torch.inductor import fusion, portable_code, provenance
from npaccel._torch.patching import is_release

X = np.arange(6.0)


def captured(function, *args, dynamic=None, history=None):
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dynamo.capture(
        function,
        dict(zip(names, tensors, strict=True)),
        history=history or dynamo.SizeHistory(),
        dynamic=dynamic,
        scalars=(),
        restrided=(),
    )


class TestCapture:
    def test_graph_inputs_and_guards(self):
        capture = captured(lambda x: np.sin(x) + TABLE, X)
        assert capture.graph is not None
        assert [item.expression for item in capture.inputs] == ["L['x']", "G['TABLE']"]
        kinds = {(guard.kind, guard.expression) for guard in capture.guards}
        assert ("MODULE_MATCH", "G['np']") in kinds
        assert not capture.has_side_effects
        assert not capture.has_symbols

    def test_side_effects_are_seen(self):
        items = []

        def f(x):
            items.append(1)
            return x

        function = f
        capture = dynamo.capture(
            function,
            {"x": torch.ones(2), "items": items},
            history=dynamo.SizeHistory(),
            dynamic=None,
            scalars=(),
            restrided=(),
        )
        assert capture.has_side_effects

    def test_history_makes_the_second_size_symbolic(self):
        history = dynamo.SizeHistory()

        def f(x):
            return x * 2

        assert not captured(f, X, history=history).has_symbols
        second = captured(f, X[:4], history=history)
        assert second.has_symbols
        assert "size()" in second.shape_guard()[0]
        assert not captured(f, X[:3]).has_symbols, "another history isn't touched"

    def test_break_has_reason_and_line(self):
        def f(x):
            print(x)
            return x

        with pytest.raises(dynamo.CaptureError) as caught:
            captured(f, X)
        assert caught.value.is_break
        assert caught.value.stack[-1].filename == __file__
        assert "print" in caught.value.stack[-1].line

    def test_dynamo_checks_its_own_guards(self):
        capture = captured(lambda x: x + len(NAMES), X)
        check = capture.build_check()
        assert check({"x": torch.from_numpy(X)})
        NAMES.append("c")
        try:
            assert not check({"x": torch.from_numpy(X)})
        finally:
            NAMES.pop()


TABLE = np.ones(6)
NAMES = ["a", "b"]


class TestNumpyTracing:
    def test_nodes_are_rows_of_the_table(self):
        capture = captured(lambda x: np.cbrt(x).sum(), X)
        names = [
            node.target.name
            for node in capture.graph.graph.nodes
            if isinstance(node.target, numpy_operations.Operation)
        ]
        assert names == ["numpy.cbrt", "numpy.ndarray.sum"]
        assert capture.scalar_outputs == [True]

    def test_bare_torch_compile_is_untouched(self):
        """torch's own NumPy gives NaN for the cube root of a negative number."""
        numpy_tracing.install()
        bare = torch.compile(lambda x: np.cbrt(x), backend="eager")
        ours = npaccel.jit(lambda x: np.cbrt(x), backend="eager")
        x = np.array([-8.0])
        before = bare(x)
        assert_same(ours(x), np.cbrt(x))
        assert_same(bare(x + 0.0), before)
        results = []
        thread = threading.Thread(target=lambda: results.append(bare(np.array([-8.0, 1.0]))))
        with numpy_tracing.numpy_traced():
            thread.start()
            thread.join()
        assert np.isnan(results[0][0]) == np.isnan(before[0])

    def test_after_bare_torch_compile(self):
        """Dynamo keeps what it does by type; patches made later have to count too."""
        code = """
        import numpy as np, torch
        bare = torch.compile(lambda x: x + 1, backend="eager")
        assert (bare(np.ones(2)) == 2).all() and (bare(torch.ones(2)) == 2).all()
        import npaccel
        found = npaccel.jit(lambda x: x.mean(), backend="eager", strict=True)(np.arange(3))
        assert type(found) is np.float32 and found == 1, repr(found)
        bare = torch.compile(lambda x: x.mean(), backend="eager")
        assert type(bare(torch.ones(2))) is torch.Tensor
        """
        children.run_prepared(textwrap.dedent(code) + "\nanswer()")

    def test_captured_read_only_array_keeps_its_flag(self):
        table = np.arange(3.0)
        table.flags.writeable = False
        jitted = npaccel.jit(lambda x: x + table, backend="eager")
        for _ in range(2):
            assert_same(jitted(np.ones(3)), table + 1)
            assert not table.flags.writeable

    def test_captured_read_only_array_is_not_written(self, backend):
        table = np.arange(3.0)

        def f(x):
            table[0] = 9
            return x + table

        jitted = npaccel.jit(f, backend=backend)
        assert_same(jitted(np.ones(3)), np.array([10.0, 2.0, 3.0]))
        table[0] = 0
        table.flags.writeable = False
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                jitted(np.ones(3))
        assert table[0] == 0


class TestInductor:
    def test_slice_writes_store_the_slice(self):
        def f(a):
            out = np.zeros_like(a)
            out[2:-2, 2:-2, :-1] = a[2:-2, 2:-2, :-1] * 2
            out[..., -1] = 0
            out[2:-2, 2:-2, :] += a[2:-2, 2:-2, :]
            return out

        a = np.random.default_rng(0).normal(size=(20, 20, 6))
        jitted = npaccel.jit(f)
        assert_same(jitted(a), f(a))
        assert_same(jitted(a), f(a))
        kernel = jitted.source().split("cpp_fused")[1]
        assert kernel.count("?") < 20, "slices are selected over the whole array"

    def test_generated_code_is_called_directly(self, tmp_path):
        def f(x):
            return np.sin(x) + 1

        capture = captured(f, X)
        compiled = inductor.compile_graph(capture, "inductor", inductor_folder(tmp_path))
        assert compiled.inner is not None
        assert compiled.mutated == ()
        assert compiled.kernels
        (got,) = compiled.inner([torch.from_numpy(X)])
        assert_same(got.numpy(), np.sin(X) + 1)

    def test_written_inputs_are_known(self, tmp_path):
        def f(x, y):
            y[1:] = x[1:] * 2

        capture = captured(f, X, np.zeros(6))
        names = [item.expression for item in capture.inputs]
        compiled = inductor.compile_graph(capture, "inductor", inductor_folder(tmp_path))
        assert [names[i] for i in compiled.mutated] == ["L['y']"]

    def test_lines_and_stages_are_known(self, tmp_path):
        def f(x):
            y = np.sin(x)
            return y @ y

        before = CppBuilder.build, PyCodeCache.__dict__["load_by_key_path"]
        compiled = inductor.compile_graph(captured(f, X), "inductor", inductor_folder(tmp_path))
        first = f.__code__.co_firstlineno
        code = {line.line - first: line.code for line in compiled.lines if line.file == __file__}
        assert code[1][0].startswith("cpp_fused")
        assert code[2]
        assert set(compiled.stages) == {"lowering", "compile", "load"}
        assert compiled.stages["lowering"] > 0
        assert before == (CppBuilder.build, PyCodeCache.__dict__["load_by_key_path"])

    def test_builds_that_overlap_count_once(self):
        assert provenance._covered([(0, 2), (1, 3), (5, 6)]) == 4
        assert provenance._covered([]) == 0


class TestLines:
    def test_frames_are_the_users(self):
        internal = Path(torch.__file__).parent / "_y.py"
        trace = f'File "{__file__}", line 3, in f\n    a + b\nFile "{internal}", line 4, in g'
        assert lines.frames_of(trace) == [(__file__, 3, "a + b")]
        assert lines.frames_of(None) == []

    def test_narrowings_are_noted_with_their_lines(self):
        def f(x):
            return x, np.ones(2), np.arange(3) / 2

        with tracing(TraceSettings("float32")):
            capture = captured(f, X)
        assert {one.line - f.__code__.co_firstlineno for one in capture.narrowed} == {1}
        assert captured(f, X).narrowed == ()


def inductor_folder(tmp_path):
    """The compiler's files of this run of tests, so that they are built once."""
    from npaccel._compiler.scratch import scratch_folder

    return scratch_folder() or tmp_path


class TestLoader:
    def test_loads_without_the_compiler(self, tmp_path):
        def f(x):
            return np.cos(x) * 2, x.sum()

        compiled = inductor.compile_graph(captured(f, X), "inductor", inductor_folder(tmp_path))
        source = portable_code.portable_source(compiled.source)
        assert "torch._inductor" not in source
        code = loader.load_module(source, compiled.kernels)
        first, total = code.call([torch.from_numpy(X)])
        assert_same(first.numpy(), np.cos(X) * 2)
        assert float(total) == X.sum()
        assert code.on_arrays is not None
        first, total = code.on_arrays(X)
        assert_same(first, np.cos(X) * 2)
        assert total == X.sum()

    def test_refuses_what_it_does_not_know(self):
        with pytest.raises(loader.NotPortableError, match="from torch._inductor.x import y"):
            portable_code.portable_source("from torch._inductor.x import y\n")
        with pytest.raises(loader.NotPortableError, match="import triton"):
            portable_code.portable_source("import triton\n")
        with pytest.raises(loader.NotPortableError, match="extern_kernels.rare"):
            portable_code.portable_source("def call(args):\n    extern_kernels.rare(args[0])\n")

    def test_matrix_products_run(self):
        jitted = npaccel.jit(lambda a, b: (a @ b) + 1)
        a, b = np.ones((3, 4)), np.ones((4, 2))
        for _ in range(2):
            assert_same(jitted(a, b), a @ b + 1)


@pytest.mark.parametrize("condition", [True, False])
def test_sizes(condition):
    assert surely(condition) is condition


@pytest.mark.inductor
def test_instruction_sets_are_those_that_inductor_finds():
    """Inductor builds a program for each, and has a Python load it, in a folder that all know."""
    ask = """
        import contextlib, subprocess
        from torch._inductor import cpu_vec_isa
        from npaccel._torch.inductor import precompiled_headers as headers
        started = []
        begin = subprocess.Popen.__init__
        def counted(self, args, *others, **named):
            started.append(args[0])
            begin(self, args, *others, **named)
        subprocess.Popen.__init__ = counted
        known = headers.flags_of_kernels() if sys.argv[1] == "ours" else None
        with known or contextlib.nullcontext():
            found = cpu_vec_isa.pick_vec_isa()
        answer(isa=f"{found} {found.build_arch_flags()}", loaded=started.count(sys.executable))
    """
    found = {whose: children.run_prepared(ask, whose) for whose in ("ours", "theirs")}
    assert found["ours"]["isa"] == found["theirs"]["isa"]
    if torch.cpu._is_avx2_supported():
        assert found["ours"]["loaded"] == 0
        if is_release("2.11-2.13"):  # Later ones note what a folder's programs have told.
            assert found["theirs"]["loaded"] > 0


@pytest.mark.skipif(not torch.cpu._is_avx2_supported(), reason="its flags are an x86 processor's")
@pytest.mark.parametrize(
    ("without", "instructions"), [("avx512", "avx2"), ("avx", "INVALID_VEC_ISA")]
)
def test_instruction_sets_that_the_compiler_has_not(tmp_path, without, instructions):
    compiler = tmp_path / "g++"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *-m{without}*) exit 1;; esac\nexec /usr/bin/env g++ "$@"\n'
    )
    compiler.chmod(0o700)
    ask = """
        from torch._inductor import config, cpu_vec_isa
        from npaccel._torch.inductor import precompiled_headers as headers
        config.cpp.cxx = (sys.argv[1],)
        with headers.flags_of_kernels():
            answer(isa=str(cpu_vec_isa.pick_vec_isa()))
    """
    assert children.run_prepared(ask, str(compiler)) == {"isa": instructions}


@pytest.mark.inductor
def test_forms_of_attention_are_left_to_torch_compile():
    """They take half a second of the first compilation; graphs of the user's own may have some."""
    script = """
        from torch._inductor.fx_passes import fuse_attention, joint_graph
        from npaccel._torch.inductor.skip_attention_patterns import no_attention_looked_for
        traced = fuse_attention._sfdp_init.cache_info
        with no_attention_looked_for():
            joint_graph.lazy_init()
        ours = traced().currsize, len(joint_graph.patterns.patterns)
        joint_graph.lazy_init()
        answer(ours=ours, theirs=(traced().currsize, len(joint_graph.patterns.patterns)))
    """
    found = children.run_prepared(script)
    assert found["ours"][0] == 0
    assert found["theirs"][0] == 1
    assert found["theirs"][1] > found["ours"][1] > 0


def step(x):
    return (x + 1) * (0.5 - x)


def deep(x):
    x = step(step(step(step(x))))
    x = step(step(step(step(x))))
    return step(step(step(step(x))))


@pytest.mark.inductor
def test_what_is_used_twice_is_traced_once(monkeypatch):
    """Twelve steps have 36 operations; 12,285 where each use is traced with all it's made of."""
    from torch._inductor.loop_body import CountOps

    counted = []
    original = CountOps._default

    def count(self, name, args, kwargs):
        counted.append(name)
        return original(self, name, args, kwargs)

    monkeypatch.setattr(CountOps, "_default", count)
    assert_same(npaccel.jit(deep, cache=False)(X / 8), deep(X / 8))
    assert 36 <= len(counted) < 100


def test_rules_of_dtypes_are_made_again_for_new_operations(monkeypatch):
    from torch._inductor import dtype_propagation, utils

    from npaccel._torch.inductor.dtype_propagation import dtype_rules_made_once

    rules = dtype_propagation.DtypePropagationOpsHandler
    kind = torch._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    with dtype_rules_made_once():
        del rules().sin
        assert not hasattr(rules(), "sin")  # It wasn't made again.
        rule = utils.OpDtypeRule(kind, torch.int8)
        monkeypatch.setitem(utils.op_dtype_propagation_rules, "of_tests", rule)
        assert rules().of_tests(1.0) == torch.int8
    assert rules().sin is not None
    del rules().of_tests


def test_thresholds_of_fusion_are_inductors():
    from torch._inductor import config

    before = {name: getattr(config, name) for name in fusion._THRESHOLDS}
    with fusion.nothing_stored_between():
        assert {getattr(config, name) for name in before} == {1 << 20}
    assert {name: getattr(config, name) for name in before} == before


def test_captures_report_no_metrics(monkeypatch):
    """torch's report of a compilation takes longer than a small capture should."""
    reports = []
    context = torch._dynamo.utils.get_metrics_context()
    monkeypatch.setattr(context, "_on_exit", lambda *args: reports.append(args))
    assert npaccel.jit(lambda x: x + 1, backend="eager", cache=False)(np.ones(2)).tolist() == [2, 2]
    assert not reports
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert reports, "torch's own compilations are reported as before"
