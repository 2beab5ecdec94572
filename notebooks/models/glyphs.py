"""Writes glyphs.onnx, the model of the notebook about model files.

usage: glyphs.py glyphs.onnx          (needs numpy and onnx: "make peers" installs both)

A convolutional classifier of 8×8 images into ten classes. Its weights come from a
seed: it has learnt nothing. It leaves the number of images open, and takes the
number of guesses, k, as an input.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

r = np.random.default_rng(8)


def weight(name, *shape):
    fan_in = int(np.prod(shape[1:]))
    return numpy_helper.from_array((r.standard_normal(shape) * (2 / fan_in) ** 0.5).astype(np.float32), name)


def zeros(name, n):
    return numpy_helper.from_array(np.zeros(n, np.float32), name)


nodes = [
    helper.make_node("Conv", ["images", "w1", "b1"], ["edges"], "edges", pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["edges"], ["strokes"], "strokes"),
    helper.make_node("MaxPool", ["strokes"], ["small"], "small", kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Conv", ["small", "w2", "b2"], ["parts"], "parts", pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["parts"], ["seen"], "seen"),
    helper.make_node("GlobalAveragePool", ["seen"], ["pooled"], "pooled"),
    # As exporters write a flatten: from the shape of the value.
    helper.make_node("Shape", ["pooled"], ["shape"], "shape", start=0, end=1),
    helper.make_node("Concat", ["shape", "rest"], ["flat_shape"], "flat_shape", axis=0),
    helper.make_node("Reshape", ["pooled", "flat_shape"], ["flat"], "flat"),
    helper.make_node("Gemm", ["flat", "w3", "b3"], ["scores"], "scores", transB=1),
    helper.make_node("Softmax", ["scores"], ["probabilities"], "probabilities", axis=-1),
    helper.make_node("TopK", ["probabilities", "k"], ["best", "classes"], "best", axis=-1),
]
initializers = [
    weight("w1", 8, 1, 3, 3), zeros("b1", 8), weight("w2", 16, 8, 3, 3), zeros("b2", 16),
    weight("w3", 10, 16), zeros("b3", 10), numpy_helper.from_array(np.array([16], np.int64), "rest"),
]  # fmt: skip
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "glyphs",
    [info("images", TensorProto.FLOAT, ["batch", 1, 8, 8]), info("k", TensorProto.INT64, [1])],
    [info("best", TensorProto.FLOAT, ["batch", None]), info("classes", TensorProto.INT64, ["batch", None])],
    initializers,
)  # fmt: skip
model = helper.make_model(graph, producer_name="glyphs.py", opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
onnx.checker.check_model(model)
with open(sys.argv[1], "wb") as f:
    f.write(model.SerializeToString(deterministic=True))
