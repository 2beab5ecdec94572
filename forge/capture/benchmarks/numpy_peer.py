"""NumPy, whose matrix multiplication is OpenBLAS's."""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from program import Unsupported, angles, plain, scale_of


def versions(threads):
    import threadpoolctl

    pools = [p for p in threadpoolctl.threadpool_info() if p["internal_api"] == "openblas"]
    if len(pools) != 1:
        raise Unsupported(f"NumPy has loaded {len(pools)} OpenBLAS libraries, not 1")
    if pools[0]["num_threads"] != threads:
        raise Unsupported(f"OpenBLAS has {pools[0]['num_threads']} threads, not {threads}")
    return {"numpy": np.__version__, "openblas": pools[0]["version"], "openblas core": pools[0]["architecture"]}


def gelu(x):
    t = x * x
    t *= np.float32(0.044715)
    t += np.float32(1)
    t *= x
    t *= np.float32(math.sqrt(2 / math.pi))
    np.tanh(t, out=t)
    t += np.float32(1)
    t *= x
    t *= np.float32(0.5)
    return t


def silu(x):
    t = np.negative(x)
    np.exp(t, out=t)
    t += np.float32(1)
    return np.divide(x, t, out=t)


def layer_norm(eps):
    def f(x, weight, bias):
        d = x - x.mean(-1, keepdims=True)
        variance = np.einsum("...i,...i->...", d, d)[..., None] / np.float32(x.shape[-1])
        d *= 1 / np.sqrt(variance + np.float32(eps))
        d *= weight
        d += bias
        return d

    return f


def rms_norm(eps):
    def f(x, weight):
        square = np.einsum("...i,...i->...", x, x)[..., None] / np.float32(x.shape[-1])
        y = x * (1 / np.sqrt(square + np.float32(eps)))
        y *= weight
        return y

    return f


def sdpa(node):
    groups = node.shapes[0][1] // node.shapes[1][1]
    queries, keys = node.shapes[0][2], node.shapes[1][2]
    scale = np.float32(scale_of(node) or 1 / math.sqrt(node.shapes[0][-1]))
    mask = np.triu(np.full((queries, keys), -np.inf, np.float32), 1) if node.causal else None

    def f(q, k, v):
        if groups > 1:
            k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
        s = q @ k.swapaxes(-1, -2)
        s *= scale
        if mask is not None:
            s += mask
        s -= s.max(-1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(-1, keepdims=True)
        return s @ v

    return f


def rope(node):
    half, tokens = node.shape[-1] // 2, node.shape[-2]

    def f(x, positions):
        a = angles(node, positions, tokens)
        cos, sin = np.cos(a).astype(x.dtype), np.sin(a).astype(x.dtype)
        low, high = x[..., :half], x[..., half:]
        return np.concatenate((low * cos - high * sin, high * cos + low * sin), -1)

    return f


def conv2d(node):
    top, left, bottom, right = node.padding if len(node.padding) == 4 else node.padding * 2
    down, along = node.stride
    if node.groups != 1 or list(node.dilation) != [1, 1]:
        raise Unsupported("conv2d with groups or dilation has no equal here")

    def f(x, w, bias=None):
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        windows = sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::down, ::along]
        n, c, height, width = windows.shape[:4]
        columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * w.shape[2] * w.shape[3], height * width)
        y = w.reshape(len(w), -1) @ columns
        if bias is not None:
            y += bias[:, None]
        return y.reshape(n, len(w), height, width)

    return f


def linear(x, w, bias=None):
    y = x @ w
    if bias is not None:
        y += bias
    return y


def function(node):
    """A function that computes a node from its operands."""
    op = node.op
    if op in ("linear", "matmul"):
        plain(node)
        return linear
    if op == "gelu" and node.approximate == "tanh":
        return gelu
    if op in ("layer_norm", "rms_norm"):
        if node.axis != len(node.shape) - 1 or len(node.inputs) != (3 if op == "layer_norm" else 2):
            raise Unsupported(f"{op} of this kind has no equal here")
        return layer_norm(node.eps) if op == "layer_norm" else rms_norm(node.eps)
    simple = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "silu": silu,
        "relu": lambda x: np.maximum(x, np.float32(0)),
        "reshape": lambda x: x.reshape(node.shape),
        "transpose": lambda x: x.transpose(node.perm),
        "mean": lambda x: x.mean(tuple(node.axes), keepdims=node.keepdims),
        "gather": lambda table, index: table.take(index, node.axis),
    }
    if op in simple:
        return simple[op]
    made = {"sdpa": sdpa, "rope": rope, "conv2d": conv2d}
    if op in made:
        return made[op](node)
    raise Unsupported(f"NumPy peer: {op} is not written")


class Peer:
    """Runs the nodes one by one."""

    cache = "none"

    def __init__(self, program):
        self.program = program
        self.steps = [(function(n), n.inputs, n.output) for n in program.nodes]

    def __call__(self):
        values = dict(self.program.constants)
        values.update(zip(self.program.inputs, self.program.arguments))
        for f, inputs, output in self.steps:
            values[output] = f(*[values[name] for name in inputs])
        return [values[name] for name in self.program.outputs]

    def arrays(self):
        return self()
