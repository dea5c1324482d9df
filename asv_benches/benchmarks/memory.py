"""Memory that a call needs besides its inputs and its output."""

from __future__ import annotations

from .processes import run_child


class PeakMemory:
    """Peak of the k-means step above inputs and output."""

    params = [["numpy", "npaccel", "torch_compile"], ["float64", "float32"]]
    param_names = ["implementation", "dtype"]
    unit = "bytes"
    timeout = 600

    def track_peak(self, implementation: str, dtype: str) -> int:
        extra: int = run_child("peak_memory", implementation, dtype)["bytes"]
        return max(0, extra)
