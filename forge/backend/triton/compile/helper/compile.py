"""Compiles kernels of Triton to machine code, for a program that talks to it by pipes.

A message is its length, four bytes with the highest first, and as many bytes of JSON.
The first that goes out says the version of Triton, or why there is none. A request has
the text of a Python file, the compute capability and a list of kernels; for each, in
order, a message goes out with the machine code or the error. The end of the input ends
the process.
"""

import base64
import importlib.util
import json
import os
import struct
import sys

LONGEST = 64 << 20  # of a message, in bytes


def main():
    # What libraries print must not get between messages.
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)

    def send(message):
        raw = json.dumps(message).encode()
        outgoing.write(struct.pack(">I", len(raw)) + raw)
        outgoing.flush()

    try:
        import triton
    except Exception as e:  # a broken installation fails in many ways
        send({"error": f"{type(e).__name__}: {e}"})
        return
    send({"version": triton.__version__})
    number = 0
    while True:
        head = incoming.read(4)
        if not head:
            return
        (size,) = struct.unpack(">I", head)
        if size > LONGEST:
            sys.exit(f"a request of {size} bytes")
        request = json.loads(incoming.read(size))
        number += 1
        module = load(f"kernels_{number}", request["text"])
        for kernel in request["kernels"]:
            try:
                send(compiled(module, kernel, request["capability"]))
            except Exception as e:
                send({"error": f"{type(e).__name__}: {e}"[:4096]})


def load(name, text):
    """Triton reads the text of functions from the file that they are in."""
    path = os.path.abspath(name + ".py")
    with open(path, "w") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(module, kernel, capability):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = dict(kernel["signature"])
    signature.update({name: "constexpr" for name in kernel["constants"]})
    function = getattr(module, kernel["function"])
    order = {name: i for i, name in enumerate(function.arg_names)}
    source = ASTSource(
        fn=function,
        signature={name: signature[name] for name in function.arg_names},
        constexprs=kernel["constants"],
        attrs={(order[name],): [["tt.divisibility", 16]] for name in kernel["aligned"]},
    )
    options = {"num_warps": kernel["warps"], "num_stages": kernel["stages"], "enable_fp_fusion": False}
    result = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    about = result.metadata
    if getattr(about, "global_scratch_size", 0) or getattr(about, "profile_scratch_size", 0):
        raise ValueError("the kernel wants scratch memory, which nobody gives it")
    if getattr(about, "num_ctas", 1) != 1:
        raise ValueError("the kernel wants clusters of blocks")
    return {
        "name": about.name,
        "shared": about.shared,
        "warps": about.num_warps,
        "cubin": base64.b64encode(result.asm["cubin"]).decode(),
    }


main()
