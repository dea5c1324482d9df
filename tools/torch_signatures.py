"""Write the signatures of what npaccel replaces in the installed torch.

    python tools/torch_signatures.py

Adds the installed release to ``npaccel/_torch/signatures.json``, or renews it. Run it where a
release of torch is taken in, and where a row of patches is added: once in the environment of each
release.
"""

from __future__ import annotations

import json

import torch

import npaccel  # noqa: F401 (checks the release)
from npaccel._torch.importing import load_compiler

load_compiler()

from npaccel._torch import patches, signatures  # noqa: E402 (imports the compiler)
from npaccel._torch.patching import originals  # noqa: E402


def main() -> None:
    """Renew the installed release's part of the file."""
    release = ".".join(torch.__version__.split(".")[:2])
    file = signatures.FILE
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[release] = {
        target: signatures.signature_of(original)
        for target, original in sorted(originals(patches.PATCHES).items())
    }
    ordered = dict(sorted(known.items(), key=lambda item: [*map(int, item[0].split("."))]))
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    print(f"{len(known[release])} signatures of torch {release}; releases: {', '.join(ordered)}")


if __name__ == "__main__":
    main()
