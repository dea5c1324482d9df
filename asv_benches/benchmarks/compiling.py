"""The first call: everything that happens before there is an answer."""

from __future__ import annotations

from .processes import empty_caches, run_child


class ColdCompile:
    """First call of the k-means step, new process, empty caches."""

    params = ["npaccel", "torch_compile"]
    param_names = ["implementation"]
    unit = "seconds"
    timeout = 600

    def track_first_call(self, implementation: str) -> float:
        with empty_caches() as caches:
            seconds: float = run_child("first_call", implementation, caches=caches)["seconds"]
        return seconds


class WarmStart:
    """From the first import to the first result, new process, warm caches."""

    params = ["numpy", "npaccel", "torch_compile"]
    param_names = ["implementation"]
    unit = "seconds"
    timeout = 600

    def track_first_result(self, implementation: str) -> float:
        with empty_caches() as caches:
            for _ in range(2):  # the first fills the caches, the second the page cache
                run_child("first_result", implementation, caches=caches)
            seconds: float = run_child("first_result", implementation, caches=caches)["seconds"]
        return seconds


class FirstNest:
    """First call of a loop that Numba compiles, with Numba's import, new process."""

    params = [["gauss_seidel", "lu_elements", "nussinov", "crc16"], ["cold", "warm"]]
    param_names = ["program", "caches"]
    unit = "seconds"
    timeout = 600

    def track_first_call(self, program: str, state: str) -> float:
        with empty_caches() as caches:
            if state == "warm":
                run_child("first_nest", program, caches=caches)
            seconds: float = run_child("first_nest", program, caches=caches)["seconds"]
        return seconds


class Import:
    """Importing npaccel against importing torch, new process."""

    params = ["torch", "npaccel"]
    param_names = ["module"]
    unit = "seconds"

    def setup(self, module: str) -> None:
        run_child("import", module)

    def track_import(self, module: str) -> float:
        seconds: float = run_child("import", module)["seconds"]
        return seconds

    def track_heavy_modules(self, module: str) -> int:
        return len(run_child("import", module)["loaded"])

    track_heavy_modules.unit = "modules"  # type: ignore[attr-defined]
