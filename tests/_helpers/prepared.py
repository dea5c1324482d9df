"""A process that has imported torch's compiler, which takes seconds, and is forked for scripts.

Its argument is the descriptor of a socket. A message is a script with its arguments, environment
and folders of modules, and comes with the descriptors of two files for what the script prints; the
answers are the child's process id, and the status that it ended with. npaccel isn't imported yet
in the child, and nothing has been computed.
"""

import gc
import importlib
import json
import os
import socket
import sys
import types
import warnings


def import_compiler():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._inductor.compile_fx")
    # A child that ends looks for garbage among a million objects, which would take it a second.
    gc.collect()
    gc.freeze()


def next_script(channel):
    """Return, in a forked child, what it is to run; None once nobody asks any more."""
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not message:
            return None
        child = os.fork()
        if child == 0:
            channel.close()
            for file, descriptor in zip(files, (1, 2), strict=True):
                os.dup2(file, descriptor)
                os.close(file)
            return json.loads(message)
        for file in files:
            os.close(file)
        channel.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(script):
    """Run a script as ``python -c`` does."""
    os.environ.clear()
    os.environ.update(script["environment"])
    sys.argv[:] = ["-c", *script["arguments"]]
    sys.path[:1] = ["", *script["paths"]]
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(script["source"], "<string>", "exec"), module.__dict__)


if __name__ == "__main__":
    import_compiler()
    script = next_script(socket.socket(fileno=int(sys.argv[1])))
    if script is not None:
        run(script)
