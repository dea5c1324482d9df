"""Splines that SciPy's functions give, as objects that compute on a device."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from npaccel._scipy.dispatch import conversion
from npaccel._scipy.interpolate._interpolators import Piecewise, Spline
from npaccel._scipy.objects.computed import Computed

_FROM = "scipy.interpolate"


def on_device(value: Any, device: torch.device, width: conversion.Width) -> Any:
    """Return a spline of SciPy's as one that computes on a device; other values as they are."""
    module: Any = importlib.import_module(_FROM)
    name = f"{_FROM}.{type(value).__name__}"
    if isinstance(value, Computed):
        return value
    if isinstance(value, module.BSpline):
        t, c = (conversion.to_device(v, device) for v in (value.t, value.c))
        spline = Spline(t, c, value.k, value.extrapolate, value.axis)
        return spline.named(type(value), name, device, width)
    if isinstance(value, module.PPoly):
        c, x = (conversion.to_device(v, device) for v in (value.c, value.x))
        return Piecewise(c, x, value.extrapolate, value.axis).named(
            type(value), name, device, width
        )
    return value


conversion.restore_objects_of(_FROM, on_device)
