"""PyTorch, eager and compiled: a module whose forward method is the program.

The method is written out as Python text, as a person would write it, so that
nothing is looked up or decided while it runs.
"""

import numpy as np
import torch
import torch.nn.functional as F

from program import Unsupported, plain, scale_of


device = torch.device("cpu")


def versions(threads, where="cpu"):
    """Chooses threads and the device. A GPU computes in float32 as it is written, not in TF32."""
    global device
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    if where != "cpu":
        if not torch.cuda.is_available():
            raise Unsupported("this PyTorch finds no GPU")
        device = torch.device("cuda", 0)
        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        return {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": str(torch.backends.cudnn.version()),
            "device": torch.cuda.get_device_name(device),
        }
    config = torch.__config__.show()
    mkl = [line.strip(" -").split(" Product")[0].split("-Product")[0] for line in config.splitlines() if "Kernel Library Version" in line]
    return {
        "torch": torch.__version__,
        "torch instruction sets": torch.backends.cpu.get_cpu_capability(),
        "torch BLAS": mkl[0] if mkl else "no MKL",
    }


def turned(x, positions, freqs):
    """Rotary positions, in float64 as far as the angles go."""
    at = positions.reshape(-1, 1) + torch.arange(x.shape[-2], device=x.device)
    a = (at[:, :, None] * freqs)[:, None]
    cos, sin = torch.cos(a).to(x.dtype), torch.sin(a).to(x.dtype)
    low, high = x.chunk(2, -1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


class Writer:
    """Writes the body of the forward method and collects the parameters."""

    def __init__(self, program):
        self.program = program
        self.names = {}
        self.parameters = {}
        self.lines = []
        for i, name in enumerate(program.inputs):
            self.names[name] = f"x{i}"
        for i, node in enumerate(program.nodes):
            self.lines.append(f"        v{i} = {self.expression(node)}")
            self.names[node.output] = f"v{i}"

    def source(self):
        arguments = ", ".join(f"x{i}" for i in range(len(self.program.inputs)))
        results = "".join(self.value(name) + ", " for name in self.program.outputs)
        body = "\n".join(self.lines)
        return f"class Model(torch.nn.Module):\n    def forward(self, {arguments}):\n{body}\n        return ({results})\n"

    def parameter(self, array):
        name = f"p{len(self.parameters)}"
        self.parameters[name] = torch.nn.Parameter(torch.from_numpy(np.ascontiguousarray(array)), requires_grad=False)
        return f"self.{name}"

    def value(self, name):
        if name not in self.names:
            self.names[name] = self.parameter(self.program.constants[name])
        return self.names[name]

    def expression(self, n):
        op = n.op
        if op == "linear":
            # PyTorch's layers keep their weights as [out, in].
            plain(n)
            w = self.parameter(self.program.constant(n.inputs[1], n).T)
            return "F.linear(" + ", ".join([self.value(n.inputs[0]), w] + [self.value(b) for b in n.inputs[2:]]) + ")"
        v = [self.value(name) for name in n.inputs]
        if op == "matmul":
            plain(n)
            return f"torch.matmul({v[0]}, {v[1]})"
        if op == "sdpa":
            extra = f", is_causal={n.causal}"
            if n.shapes[0][1] != n.shapes[1][1]:
                extra += ", enable_gqa=True"
            if scale_of(n) is not None:
                extra += f", scale={n.scale!r}"
            return f"F.scaled_dot_product_attention({', '.join(v)}{extra})"
        if op in ("layer_norm", "rms_norm"):
            return f"F.{op}({v[0]}, {tuple(n.shape[n.axis:])}, {', '.join(v[1:])}, eps={n.eps!r})"
        if op == "rope":
            if n.style != "half" or n.dims is not None or n.freqs is not None or len(n.shape) != 4:
                raise Unsupported("rope of this kind has no equal here")
            pairs = n.shape[-1] // 2
            freqs = self.parameter(np.asarray(n.base, np.float64) ** (-np.arange(pairs) / pairs))
            return f"turned({v[0]}, {v[1]}, {freqs})"
        if op == "conv2d":
            top, left, bottom, right = n.padding if len(n.padding) == 4 else n.padding * 2
            if (top, left) != (bottom, right):
                raise Unsupported("conv2d with uneven padding has no equal here")
            return f"F.conv2d({', '.join(v)}, stride={tuple(n.stride)}, padding={(top, left)}, dilation={tuple(n.dilation)}, groups={n.groups})"
        if op == "gather":
            if n.axis != 0:
                raise Unsupported("gather along an inner axis has no equal here")
            return f"F.embedding({v[1]}, {v[0]})"
        simple = {
            "add": "{0} + {1}",
            "sub": "{0} - {1}",
            "mul": "{0} * {1}",
            "relu": "F.relu({0})",
            "silu": "F.silu({0})",
            "gelu": "F.gelu({0}, approximate=" + repr(n.attrs.get("approximate")) + ")",
            "softmax": "F.softmax({0}, dim=" + repr(n.attrs.get("axis")) + ")",
            "reshape": "{0}.reshape(" + repr(tuple(n.shape)) + ")",
            "transpose": "{0}.permute(" + repr(tuple(n.attrs.get("perm", ()))) + ")",
            "mean": "{0}.mean(" + repr(tuple(n.attrs.get("axes", ()))) + ", " + repr(n.attrs.get("keepdims")) + ")",
        }
        if op not in simple:
            raise Unsupported(f"PyTorch peer: {op} is not written")
        return simple[op].format(*v)


class Peer:
    """The module, called in inference mode."""

    cache = "none"

    def __init__(self, program):
        torch.set_grad_enabled(False)
        self.mode = torch.inference_mode()
        self.mode.__enter__()
        writer = Writer(program)
        scope = {"torch": torch, "F": F, "turned": turned}
        exec(compile(writer.source(), program.name + ".py", "exec"), scope)
        module = scope["Model"]()
        for name, p in writer.parameters.items():
            module.register_parameter(name, p)
        self.module = module.eval().to(device)
        self.arguments = [torch.from_numpy(np.array(a)).to(device) for a in program.arguments]

    def __call__(self):
        return self.module(*self.arguments)

    def arrays(self):
        return [t.cpu().numpy() for t in self()]


def wait():
    """Until the GPU has done all runs so far."""
    torch.cuda.synchronize(device)


def device_time(peer):
    """Nanoseconds of a run on the GPU, by its events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    wait()
    start.record()
    peer()
    end.record()
    end.synchronize()
    return int(start.elapsed_time(end) * 1e6)


class CompiledPeer(Peer):
    """The same module through torch.compile: with its defaults, and on a GPU with its
    search for kernels and its graphs of the device."""

    def __init__(self, program):
        from torch._dynamo.utils import counters

        super().__init__(program)
        torch._dynamo.reset()
        counters.clear()
        mode = "max-autotune" if device.type == "cuda" else None
        self.module = torch.compile(self.module, dynamic=False, mode=mode)
        for _ in range(3 if mode else 1):  # the first runs capture a graph of the device
            self()
        inductor = counters["inductor"]
        self.cache = "hit" if inductor["fxgraph_cache_hit"] and not inductor["fxgraph_cache_miss"] else "miss"
