"""Keep threads able to end after a capture, where torch is built for CUDA and there is no GPU.

torch then puts an object of the first thread that traces in the place of CUDA's device guard, for
the whole process: c10/core/impl/DeviceGuardImplInterface.cpp, called by FakeTensorMode.__enter__
in torch/_subclasses/fake_tensor.py. It's gone when that thread ends, and the next thread that
traces crashes. Seen in 2.11 built for CUDA 13.0.
"""

from __future__ import annotations

import threading

import torch


def keep_device_guard() -> None:
    """Give the device guard to a thread that never ends, unless another one owns it already."""
    if not torch.cuda._is_compiled() or torch.cuda.is_available():
        return
    if threading.current_thread() is threading.main_thread():
        torch._C._ensureCUDADeviceGuardSet()
        return
    is_set = threading.Event()

    def own() -> None:
        torch._C._ensureCUDADeviceGuardSet()
        is_set.set()
        threading.Event().wait()

    threading.Thread(target=own, name="npaccel: owner of a device guard", daemon=True).start()
    is_set.wait()
