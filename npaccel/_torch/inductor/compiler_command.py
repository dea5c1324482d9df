"""The C++ compiler as Inductor runs it, for reports of bugs.

Read from torch/_inductor/cpp_builder.py of 2.11 and 2.13.
"""

from __future__ import annotations

import subprocess

from torch._inductor import cpp_builder, cpu_vec_isa, exc

from npaccel._torch.inductor.precompiled_headers import flags_of_kernels


def described() -> dict[str, str]:
    """Return the compiler's program, its version and the flags of kernels; "none" without one.

    The flags that the processor's vector instructions add are left out: to find them Inductor
    compiles a program.
    """
    try:
        program = cpp_builder.get_cpp_compiler()
        with flags_of_kernels():
            options = cpp_builder.CppTorchOptions(vec_isa=cpu_vec_isa.invalid_vec_isa)
    except (exc.InvalidCxxCompiler, OSError) as error:
        return {"program": f"none ({error})"}
    flags = " ".join(f"-{flag}" for flag in options.get_cflags())
    return {"program": program, "version": _version(program), "flags": flags}


def _version(program: str) -> str:
    try:
        run = subprocess.run(  # noqa: S603 (the compiler that Inductor runs)
            [program, "--version"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"unknown ({error})"
    return (run.stdout or run.stderr).partition("\n")[0]
