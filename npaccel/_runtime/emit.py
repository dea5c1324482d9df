"""The lines of Python that make a call of compiled code: one emitter for all who generate calls.

`runner` and ``_loops/driver/tensor_calls`` make functions of them. The two differ in what becomes
of a call that isn't one of the plan's.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from typing import Any

from npaccel._runtime import device_transfer
from npaccel._runtime.guards import Scope
from npaccel._runtime.outputs import Template, outputs_of, template_code
from npaccel._runtime.plan import Plan, is_copied, is_moved, keeps_memory, place

#: Conversions to a tensor that is an array's memory, and what the array itself is for the code.
_AS_THEY_ARE = {
    "direct": "{}",
    "plain": "{}.view(ndarray)",
    "readonly": "{}",
    "renamed": "{}",
}
#: Methods of tensors that arrays don't have under the same names.
_OF_TENSORS = re.compile(r"\.(?!size\(\)|shape\b|strides\b|itemsize\b)[a-z]\w*\(|\bL\[")


class CallEmitter:
    """Emit the lines of a plan's calls.

    Each method returns those of one step. They call the parameters ``a_NAME``, the inputs ``t0``,
    ``t1``, ... and the outputs ``o``.

    Parameters
    ----------
    plan : Plan
    on_miss : str
        The statement for a call that isn't one of the plan's.
    on_overlap : str
        The statement for a call that writes to arrays which share memory.
    """

    def __init__(
        self, plan: Plan, on_miss: str = "return MISS", on_overlap: str = "return OVERLAP"
    ) -> None:
        self.plan = plan
        self.on_miss = on_miss
        self.on_overlap = on_overlap

    def on_tensors(self, names: dict[str, Any]) -> list[str]:
        """Make a call with tensors; `names` gets the constants of the result."""
        lines = [*self.inputs(), *self.shape(), *self.overlap(), *self.saves("clone")]
        lines += [*self.draws(), *self.call(), *self.write_back()]
        return [*lines, *self.result(names)]

    def on_arrays(self, names: dict[str, Any]) -> list[str]:
        """Make a call without tensors; `names` gets the constants of the result."""
        lines = []
        for i, item in enumerate(self.plan.inputs):
            if item.conversion in _AS_THEY_ARE and not item.narrow:
                lines.append(f"t{i} = {_AS_THEY_ARE[item.conversion].format(item.expression)}")
            elif item.conversion == "any" and not item.narrow:
                lines.append(f"t{i} = memory({item.expression})")
            elif item.conversion != "symbol":
                made = f"as_{item.conversion}({item.expression})"
                lines.append(f"t{i} = {f'narrowed({made})' if item.narrow else made}.numpy()")
        lines = _with_errors_marked(lines)
        lines += [line.replace(".size()", ".shape") for line in self._symbols()]
        if self.plan.shape_guard is not None:
            lines += [f"if not (fits or ({_of_arrays(self.plan)})):", f"    {self.on_miss}"]
        arrays = [i for i, item in enumerate(self.plan.inputs) if item.conversion != "symbol"]
        before: set[int] = set()
        pairs = []
        for i in self.plan.written:
            before.add(i)
            pairs += [(i, j) for j in arrays if j not in before]
        if pairs:
            shared = " or ".join(f"may_share(t{i}, t{j})" for i, j in pairs)
            lines += [f"if {shared}:", f"    {self.on_overlap}"]
        given = ", ".join(f"t{i}" for i in range(len(self.plan.inputs)))
        undoes = [f"t{i}[...] = u{i}" for i in self._undone()]
        lines += self.saves("copy")
        lines += _with_errors_marked([f"o = call({given})"], undoes, undone=self._is_undone())
        if self.plan.returned or self.plan.shared:
            lines += ["o = [*o]", *(f"o[{i}] = t{j}.view()" for i, j in self.plan.returned)]
            lines += [f"o[{i}] = o[{i}].copy()" for i in self.plan.shared]
        return [*lines, *self.result(names, arrays=True)]

    def guard(self, check: str) -> list[str]:
        """Check what the plan depends on."""
        if check == "True":
            return []
        return [
            "try:",
            f"    if not ({check}):",
            f"        {self.on_miss}",
            "except GUARD_ERRORS:",
            f"    {self.on_miss}",
        ]

    def inputs(self) -> list[str]:
        """Make tensors of the inputs, and then the sizes and numbers."""
        lines = []
        for i, item in enumerate(self.plan.inputs):
            if item.conversion in ("symbol", "drawn"):
                continue
            value = (
                item.expression
                if item.conversion == "tensor"
                else f"as_{item.conversion}({item.expression})"
            )
            if item.narrow:
                value = f"narrowed({value})"
            if is_moved(item, self.plan):
                lines.append(f"h{i} = {value}")
                value = f"moved(h{i}, device)"
            lines.append(f"t{i} = {value}")
        return [*_with_errors_marked(lines), *self._symbols()]

    def _symbols(self) -> list[str]:
        lines = []
        for i, item in enumerate(self.plan.inputs):
            if item.conversion == "symbol":
                lines.append(f"t{i} = {self._symbol(item.expression)}")
                if item.expression.isidentifier():  # Kernels take 64 bits.
                    lines += [f"if not -0x8000000000000000 <= t{i} <= 0x7FFFFFFFFFFFFFFF:"]
                    lines += [f"    {self.on_miss}"]
        return lines

    def _symbol(self, expression: str) -> str:
        """A size is read off a tensor, not off the array: the input's or one made for it."""
        for i, item in enumerate(self.plan.inputs):
            if item.conversion != "symbol" and expression.startswith(item.expression + "."):
                return f"t{i}" + expression[len(item.expression) :]
        found = re.fullmatch(r"(.+)(\.(?:size|stride|storage_offset)\(\).*)", expression)
        return f"as_any({found[1]}){found[2]}" if found else expression

    def shape(self) -> list[str]:
        """Check what is assumed of sizes and strides."""
        if self.plan.shape_guard is None:
            return []
        used = ", ".join(f"'t{i}': t{i}" for i in range(self.plan.given))
        return [f"L = {{{used}}}", f"if not ({self.plan.shape_guard}):", f"    {self.on_miss}"]

    def overlap(self) -> list[str]:
        """Check that what is written shares no memory with anything else."""
        others = ("symbol", "number", "drawn")
        tensors = [i for i, item in enumerate(self.plan.inputs) if item.conversion not in others]
        if not self.plan.written or len(tensors) < 2:
            return []
        written = [tensors.index(i) for i in self.plan.written]
        # Copies overlap with nothing.
        if any(is_copied(self.plan.inputs[i], self.plan) for i in tensors):
            values = "".join(f"{self.plan.inputs[i].expression}, " for i in tensors)
            return [f"if has_overlap(({values}), {tuple(written)}):", f"    {self.on_overlap}"]
        if len(tensors) == 2 and len(written) == 1:
            first, second = f"t{tensors[0]}", f"t{tensors[1]}"
            return [
                f"p, q = {first}.data_ptr(), {second}.data_ptr()",
                f"if p == q or ((p < q < p + {first}.untyped_storage().nbytes() or "
                f"q < p < q + {second}.untyped_storage().nbytes())"
                f" and has_overlap(({first}, {second}), ({written[0]},))):",
                f"    {self.on_overlap}",
            ]
        names = "".join(f"t{i}, " for i in tensors)
        return [f"if has_overlap(({names}), {tuple(written)}):", f"    {self.on_overlap}"]

    def draws(self) -> list[str]:
        """Draw last of all, when nothing can send the call elsewhere any more."""
        if not self.plan.draws.lines:
            return []
        given = "".join(f"t{i}, " for i in range(self.plan.given))
        drawn = "".join(f"t{i}, " for i in range(self.plan.given, len(self.plan.inputs)))
        draw = f"{drawn}= draw(args, ({given}))" if drawn else f"draw(args, ({given}))"
        if not self.plan.draws.may_fail:
            return [draw]
        failed = ["except Exception as error:", "    restore(before)"]
        failed += ["    if from_handler(error):", "        raise", "    return TO_NUMPY"]
        return ["before = save(args)", "try:", f"    {draw}", *failed]

    def saves(self, copy: str) -> list[str]:
        """Copy what may have to be undone."""
        return _with_errors_marked([f"u{i} = t{i}.{copy}()" for i in self._undone()])

    def call(self) -> list[str]:
        """Call the compiled code on tensors."""
        names = ", ".join(f"t{i}" for i in range(len(self.plan.inputs)))
        call = f"o = call([{names}])" if self.plan.boxed else f"o = call({names})"
        if self.plan.shared:
            call = call.replace("= ", "= apart(", 1) + f", {self.plan.shared})"
        returned = [f"o[{i}] = t{j}" for i, j in self.plan.returned]
        inputs = ["o = [*o]", *returned] if returned else []
        undoes = [f"t{i}.copy_(u{i})" for i in self._undone()]
        if self.plan.draws.lines and self.plan.draws.may_fail:
            undoes.append("restore(before)")
        return [*_with_errors_marked([call], undoes, undone=self._is_undone()), *inputs]

    def write_back(self) -> list[str]:
        """Write copies that the code has written to back to the caller's arrays."""
        lines = []
        for i in self.plan.written:
            item = self.plan.inputs[i]
            if is_copied(item, self.plan):
                lines.append(f"copy_back({item.expression}, t{i})")
            elif item.conversion == "any":
                lines.append(f"if is_apart({item.expression}, t{i}):")
                lines.append(f"    copy_back({item.expression}, t{i})")
        return lines

    def result(self, names: dict[str, Any], *, arrays: bool = False) -> list[str]:
        """Return the result; `names` gets its constants."""
        plan = self.plan
        constants: dict[str, Any] = {}  # Their number is in their names.
        code = template_code(plan.result, plan.tensors, constants, arrays=arrays)
        names |= constants
        lines = []
        mapped = {output: plan.inputs[i].expression for output, i in plan.mapped}
        alone = plan.read_only | _repeated(plan.result) | mapped.keys()
        for i in [] if plan.tensors else sorted(alone):
            array = f"o[{i}]" if arrays else f"o[{i}].numpy()"
            made = f"read_only({array})" if i in plan.read_only else array
            made = f"as_memmap({made}, {mapped[i]})" if i in mapped else made
            lines.append(f"r{i} = {made}")
            code = code.replace(array, f"r{i}")
        lines += self._write_objects(code) if plan.object_writes else [f"return {code}"]
        if plan.tensors or device_transfer.is_host(plan.device):
            return lines
        inputs = enumerate(plan.inputs)
        kept = [i for i, item in inputs if keeps_memory(item) and is_moved(item, plan)]
        uploaded, originals = ("".join(f"{name}{i}, " for i in kept) for name in "th")
        return [f"o = fetched(o, ({uploaded}), ({originals}))", *lines]

    def _write_objects(self, code: str) -> list[str]:
        """Put all but the first of the values that there are into objects, and return that."""
        writes = self.plan.object_writes
        owners = [f"w{i} = {owner}" for i, (owner, _, _) in enumerate(writes)]
        sets = [
            _write(f"w{i}", kind, key, f"e[{i + 1}]") for i, (_, kind, key) in enumerate(writes)
        ]
        return [f"e = {code}", *owners, *sets, "return e[0]"]

    def _undone(self) -> list[int]:
        """The inputs that have their old values again after an error."""
        if not (self.plan.undoes and self.plan.boxed):  # Else the code does it itself.
            return []
        return [i for i in self.plan.written if not is_copied(self.plan.inputs[i], self.plan)]

    def _is_undone(self) -> bool:
        """Whether nothing is left of a call that has ended anywhere in the compiled code."""
        plan = self.plan
        is_written = any(not is_copied(plan.inputs[i], plan) for i in plan.written)
        return not (plan.leaves and is_written) and (plan.draws.may_fail or not plan.draws.lines)


def _write(owner: str, kind: str, key: str | int, value: str) -> str:
    if kind == "append":
        return f"{owner}.append({value})"
    return f"{place(owner, kind, key)} = {value}"


def unpack(scope: Scope) -> list[str]:
    """Give the parameters' values their names."""
    if not scope.parameters:
        return []
    return ["".join(f"a_{name}, " for name in scope.parameters) + "= args"]


def computes_on_arrays(plan: Plan) -> bool:
    """Whether a call does without tensors, if the code can.

    What is written is an argument's own memory then.
    """
    if plan.tensors or not device_transfer.is_host(plan.device):
        return False
    if plan.draws.lines or not plan.boxed:
        return False
    conversions = {item.conversion for item in plan.inputs} - {"symbol"}
    if plan.written and (
        conversions - _AS_THEY_ARE.keys() or any(item.narrow for item in plan.inputs)
    ):
        return False
    symbols = [item.expression for item in plan.inputs if item.conversion == "symbol"]
    return not any(_OF_TENSORS.search(text) for text in [_of_arrays(plan), *symbols])


def _of_arrays(plan: Plan) -> str:
    """The guards on sizes in the words of arrays."""
    text = re.sub(r"\bL\['(t\d+)'\]", r"\1", plan.shape_guard or "")
    text = re.sub(r"(\bt\d+)\.stride\(\)(\[\d+\])", r"(\1.strides\2 // \1.itemsize)", text)
    text = re.sub(r"\bt\d+\.storage_offset\(\)", "0", text)
    return text.replace(".size()", ".shape")


def is_of_key(plan: Plan) -> bool:
    """Whether what is assumed of sizes is about arrays among the arguments alone."""
    assumed = plan.shape_guard or ""
    used = [plan.inputs[int(i)] for i in re.findall(r"\bL\['t(\d+)'\]", assumed)]
    if any(item.conversion not in _AS_THEY_ARE and item.conversion != "symbol" for item in used):
        return False
    arguments = {item.expression for item in plan.inputs if item.conversion in _AS_THEY_ARE}
    texts = [assumed, *(item.expression for item in used if item.conversion == "symbol")]
    sizes = re.compile(r"([^\s()]+)\.(?:size\(\)|shape)\[\d+\]")
    owners = {owner for text in texts for owner in sizes.findall(text) if owner[:2] != "L["}
    others = " ".join(sizes.sub("", text) for text in texts)
    return owners <= arguments and re.search(r"\ba_\w|\b[BCGM]\[", others) is None


def _with_errors_marked(
    lines: Sequence[str], undoes: Sequence[str] = (), *, undone: bool = True
) -> list[str]:
    """Have errors of lines known as those of compiled code."""
    if not lines:
        return []
    return [
        "try:",
        *(f"    {line}" for line in lines),
        "except FAILURES as error:",
        *(f"    {line}" for line in undoes),
        f"    raise CompiledCodeError(error, {undone}) from error",
    ]


def _repeated(result: Template) -> set[int]:
    """The outputs that are several parts of a result: one array in NumPy, so here."""
    arrays = (output.index for output in outputs_of(result) if not output.is_scalar)
    counts = collections.Counter(arrays)
    return {index for index, count in counts.items() if count > 1}
