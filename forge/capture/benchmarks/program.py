"""A program to measure, as the parent process hands it over.

The parent writes the program as JSON (the outline of its IR: nodes in order of
execution, constants without elements) and an .npz archive with the elements:
c0, c1, … are the constants in order, i0, i1, … the inputs. A program that was
imported from a file comes with its path; m0, m1, … are all inputs of the file.
"""

import json

import numpy as np

# What an attribute is where a node does not say; others have no default.
DEFAULTS = {
    "layer_norm": {"eps": 1e-5},
    "rms_norm": {"eps": 1e-5},
    "gelu": {"approximate": "none"},
    "softmax": {"axis": -1},
    "mean": {"keepdims": False},
    "gather": {"axis": 0},
    "linear": {"act": "none"},
    "matmul": {"act": "none"},
    "sdpa": {"causal": False, "strict": False, "scale": None},
    "rope": {"base": 10000.0, "style": "half", "dims": None, "freqs": None},
    "conv2d": {"stride": [1, 1], "dilation": [1, 1], "padding": [0, 0, 0, 0], "groups": 1},
}


class Unsupported(Exception):
    """The peer cannot run the program; the message says what it lacks."""


class Node:
    """One operator: its name, operand and result names, shapes and attributes."""

    def __init__(self, raw, shapes):
        self.op = raw["op"]
        self.inputs = raw["in"]
        self.output = raw["out"][0]["name"]
        self.shape = raw["out"][0]["shape"]
        self.shapes = [shapes[name] for name in self.inputs]  # of the operands
        self.attrs = dict(DEFAULTS.get(self.op, {}))
        self.attrs.update(raw.get("attrs", {}))

    def __getattr__(self, name):
        try:
            return self.attrs[name]
        except KeyError:
            raise AttributeError(f"{self.op} has no attribute {name}") from None


class File:
    """The model file that a program was imported from, with its inputs by name."""

    def __init__(self, raw, arrays_path):
        arrays = np.load(arrays_path, allow_pickle=False)
        self.path = raw["path"]
        self.inputs = {name: arrays[f"m{i}"] for i, name in enumerate(raw["inputs"])}
        self.outputs = raw["outputs"]


class Program:
    """Nodes in order of execution, constants by name, and the inputs in order."""

    def __init__(self, program_path, arrays_path):
        with open(program_path, encoding="utf-8") as f:
            raw = json.load(f)
        arrays = np.load(arrays_path, allow_pickle=False)
        self.name = raw["name"]
        self.inputs = [v["name"] for v in raw["inputs"]]
        self.arguments = [arrays[f"i{i}"] for i in range(len(self.inputs))]
        self.outputs = raw["outputs"]
        self.constants = {}
        self.nodes = []
        shapes = {v["name"]: v["shape"] for v in raw["inputs"]}
        for node in raw["nodes"]:
            for value in node["out"]:
                shapes[value["name"]] = value["shape"]
            if node["op"] == "const":
                self.constants[node["out"][0]["name"]] = arrays[f"c{len(self.constants)}"]
                continue
            if len(node["out"]) != 1 or "body" in node:
                raise Unsupported(f"{node['op']} has no equal here")
            self.nodes.append(Node(node, shapes))

    def constant(self, name, user):
        """The elements of an operand that has to be a constant."""
        if name not in self.constants:
            raise Unsupported(f"{user.op} takes {name}, which is no constant")
        return self.constants[name]


def angles(node, positions, tokens):
    """The angles of a rope node, float64 [B, 1, T, pairs]; positions is [B] or []."""
    if node.style != "half" or node.dims is not None or node.freqs is not None or len(node.shape) != 4:
        raise Unsupported("rope of this kind has no equal here")
    pairs = node.shape[-1] // 2
    freqs = np.asarray(node.base, np.float64) ** (-np.arange(pairs) / pairs)
    at = np.reshape(positions, (-1, 1)) + np.arange(tokens)
    return (at[:, :, None] * freqs)[:, None]


def scale_of(node):
    """The factor of the scores of an sdpa node; None where it is 1/sqrt(D)."""
    if node.strict or len(node.inputs) != 3:
        raise Unsupported("sdpa with a mask or in its strict form has no equal here")
    return node.scale


def plain(node):
    """Refuses an activation that only passes of the compiler put there."""
    if node.act != "none":
        raise Unsupported(f"{node.op} with the activation {node.act} has no equal here")
