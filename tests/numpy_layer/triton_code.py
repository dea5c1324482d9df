"""Generate the Triton code of a function, and compile it to PTX, on a machine without a GPU.

Tensors only stand for memory (`FakeTensorMode`), and what Inductor and Triton ask a GPU is
answered here. Needs a torch that is built for CUDA, and Triton. Importing this changes torch for
the whole process.
"""

import importlib.util
import re
import tempfile
import types
from pathlib import Path
from unittest import mock

import torch
import torch._subclasses.fake_tensor as fake_tensors
import triton
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import config as inductor_config
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime import triton_heuristics
from torch.fx.experimental.proxy_tensor import make_fx
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend

from npaccel._torch.inductor import compile as inductor

_TARGET = GPUTarget("cuda", 90, 32)
_PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100",
    type="cuda",
    major=9,
    minor=0,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    total_memory=80 << 30,
    L2_cache_size=50 << 20,
    gcnArchName="",
)
_DECORATORS = (
    *("pointwise", "reduction", "persistent_reduction", "split_scan", "cooperative_reduction"),
    *("template", "foreach", "user_autotune"),
)
_KERNEL = re.compile(r"async_compile\.triton\('(\w+)', '''(.*?)''', device_str", re.DOTALL)


class _Driver:
    """What Triton asks of a GPU's driver."""

    launcher_cls = None
    utils = types.SimpleNamespace(
        get_device_properties=lambda _: {"max_shared_mem": 232448, "multiprocessor_count": 132}
    )

    def get_current_target(self):
        return _TARGET

    def get_current_device(self):
        return 0

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_benchmarker(self):
        return None


class _Nowhere:
    """Stands for `torch.cuda.device`."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class _GeneratedError(Exception):
    """There is code; nothing is to be loaded."""


def pretend():
    """Answer what torch and Triton ask a GPU."""
    torch._C._ensureCUDADeviceGuardSet()
    answers = {
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "get_compute_capability": lambda device=None: 90,
        "get_device_properties": lambda device=None: _PROPERTIES,
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "is_triton_capable": lambda device=None: True,
        "raise_if_triton_unavailable": lambda device=None: None,
        "synchronize": lambda device=None: None,
    }
    for name, answer in answers.items():
        setattr(CudaInterface, name, staticmethod(answer))
    CudaInterface.Worker.current_device = staticmethod(lambda: 0)
    CudaInterface.Worker.get_device_properties = staticmethod(lambda device=None: _PROPERTIES)
    for name in ("current_device", "device_count", "get_device_properties", "is_available"):
        setattr(torch.cuda, name, answers[name])
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_rng_state = lambda *_: torch.zeros(16, dtype=torch.uint8)
    torch.cuda.set_rng_state = lambda *_: None
    torch.cuda.device = _Nowhere
    fake_tensors.init_gpu_context = lambda *_: None
    inductor_config.joint_graph_constant_folding = False  # It computes on the device.
    triton.runtime.driver.set_active(_Driver())
    for known in vars(torch.utils._triton).values():  # It may have been asked before.
        if hasattr(known, "cache_clear"):
            known.cache_clear()
    CUDABackend.make_cubin = lambda *_, **__: b""  # What can fail has been done before.
    made = torch.tensor

    def on_the_host(data, *args, device=None, **kwargs):
        found = made(data, *args, device="cpu", **kwargs)
        return found if device is None else found.to(device)

    torch.tensor = on_the_host


def generated(function, arrays):
    """Return the module that Inductor generates for a function of tensors on a GPU.

    Parameters
    ----------
    function : callable
        Takes tensors and returns a list of tensors.
    arrays : sequence of ndarray
        Of the shapes, strides and dtypes of the tensors.

    Returns
    -------
    str
    """
    found = []

    def keep(self, *_):
        wrapper, _ = self.codegen()
        found.append(getattr(wrapper, "value", wrapper))
        raise _GeneratedError

    mode = fake_tensors.FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        given = [_like(torch.as_tensor(array.copy())[...], array) for array in arrays]
        graph = make_fx(lambda *xs: tuple(function(*xs)), tracing_mode="fake")(*given)
    capture = types.SimpleNamespace(graph=graph, example_inputs=given)
    context = torch._guards.TracingContext(mode)
    names = ("compile_to_module", "_compile_to_module")
    patches = [mock.patch.object(GraphLowering, name, keep) for name in names]
    with torch._guards.tracing(context), torch.no_grad(), patches[0], patches[1]:
        try:
            inductor._inductor(capture, Path(tempfile.mkdtemp()))
        except Exception:
            if not found:
                raise
    return found[0] if found else ""  # Nothing is computed.


def _like(tensor, array):
    strides = [step // array.itemsize for step in array.strides]
    return torch.empty_strided(array.shape, strides, dtype=tensor.dtype, device="cuda")


def failures(source):
    """Compile each kernel of a generated module; return what fails, by the kernel's name."""
    found = {}
    for name, body in _KERNEL.findall(source):
        try:
            _compile(name, body)
        except Exception as error:  # noqa: BLE001 - whatever it is, it's what is looked for
            cause = error.__cause__ or error
            found[name] = str(cause).strip().splitlines()[-1]
    return found


def _compile(name, body):
    kernel = {}

    def taking(*_, **options):
        def take(function):
            kernel.update(options, fn=function)
            return function

        return take

    known = [decorator for decorator in _DECORATORS if hasattr(triton_heuristics, decorator)]
    with mock.patch.multiple(triton_heuristics, **dict.fromkeys(known, taking)):
        _imported(name, body.replace("triton_helpers.set_driver_to_gpu()", ""))
    function, meta, hints = kernel["fn"], kernel["triton_meta"], kernel.get("size_hints") or {}
    signature, constants = dict(meta["signature"]), dict(meta.get("constants", {}))
    folds = "_per_" in name or "_red_" in name
    sizes = {"XBLOCK": 1 if folds else 128, "YBLOCK": 16, "R0_BLOCK": 64}
    if "_per_" in name:
        sizes["R0_BLOCK"] = max(64, hints.get("r0_", 64))
    for parameter in function.arg_names:
        if parameter in ("XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK", "R1_BLOCK", "RSPLIT"):
            signature[parameter], constants[parameter] = "constexpr", sizes.get(parameter, 1)
    places = {
        (function.arg_names.index(key),) if isinstance(key, str) else key: value
        for key, value in constants.items()
    }
    source = triton.compiler.ASTSource(fn=function, signature=signature, constexprs=places)
    options = {"num_warps": 4, "enable_fp_fusion": meta.get("enable_fp_fusion", True)}
    triton.compile(source, target=_TARGET, options=options)


def _imported(name, body):
    """Triton reads a kernel's lines from its file."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(body)
    spec = importlib.util.spec_from_file_location(name, file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
