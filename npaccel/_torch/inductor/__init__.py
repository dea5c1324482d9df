"""Compile a captured graph with AOTAutograd and Inductor.

In: a graph and example inputs. Out: a callable on tensors, one on arrays where that works, their
source, and the kernels' libraries.

`compile` is the interface; `passes` lists every change of Inductor meanwhile, in order. `builder`,
`cpp_compilers`, `checked_files`, `precompiled_headers`, `kernel_files` and `linking` build C++;
`lean` has what most kernels need in place of torch's headers.
`ndarray_codegen` and `portable_code` rewrite generated code. The other modules change what is
fused, stored and rounded; `cpp`, `complex` and `kernels` what kernels look like. Read `compile`
first.
"""
