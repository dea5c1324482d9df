"""Torch's private parts that calls need.

`loader` runs generated code, `libraries` loads its kernels and unloads them, `ndarray_runtime`
holds what code on arrays calls. `symbolic_sizes` asks about sizes that aren't known while tracing.
`malloc` and `huge_pages` are about large memory, `copy_watch` sees copies to and from a device.
`layout` and `local_parts` are about arrays among ranks, which `fingerprints` tells apart.
Compile-time parts are in `npaccel/_torch`. Read `loader` first.
"""
