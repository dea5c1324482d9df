"""Rules for products of matrices."""

from __future__ import annotations

import torch

from npaccel._torch.sharding.rules.plan import Operation, Plan, Rule, rule

aten = torch.ops.aten


def _product(*labels: str) -> Rule:
    *operands, out = labels

    def planned(op: Operation) -> Plan | None:
        given = [(x, tuple(own)) for x, own in zip(op.spreads, operands, strict=True)]
        gone = set("".join(operands)) - set(out)
        return Plan(given, [tuple(out)], op.as_it_is, dict.fromkeys(gone, "sum"))

    return planned


rule(aten.mm)(_product("mk", "kn", "mn"))
rule(aten.bmm)(_product("bmk", "bkn", "bmn"))
rule(aten.mv)(_product("mk", "k", "m"))
rule(aten.dot, aten.vdot)(_product("k", "k", ""))
