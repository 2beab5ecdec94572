"""Writes cases.json: models of a node or two with inputs and what they give.

The values are those of the onnx package's reference evaluator, or of ONNX Runtime
for its own operators and where the reference evaluator has none. Run it with the
packages onnx and onnxruntime:

    python cases.py > cases.json
"""
import base64
import json
import logging
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

logging.disable(logging.WARNING)
rng = np.random.default_rng(7)
cases = []


def f(*shape, low=-2.0, high=2.0):
    return np.round(rng.uniform(low, high, shape), 2).astype(np.float32)


def i64(*values):
    return np.array(values, dtype=np.int64)


def integers(dtype, *shape, low=None, high=None):
    info = np.iinfo(dtype)
    low = info.min if low is None else low
    high = info.max if high is None else high
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def tensor(v):
    kind = {"f": lambda x: float(str(x)), "i": int, "u": int, "b": int}[v.dtype.kind]
    data = [kind(x) for x in v.flatten()]
    if v.dtype.kind == "f":
        data = [x if np.isfinite(x) else str(x) for x in data]
    return {"type": str(v.dtype), "shape": list(v.shape), "data": data}


def case(name, op, inputs, outputs=1, opset=24, domain="", oracle=None, **attributes):
    """inputs are arrays or None; those of integers that act as attributes are bound."""
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(inputs)]
    outs = outputs if isinstance(outputs, list) else [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, outs, domain=domain, **attributes)
    feeds = {n: v for n, v in zip(names, inputs) if n}
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()]
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(o) for o in outs if o])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=min(10, helper.find_min_ir_version_for(imports[:1]) if opset >= 7 else 4))
    if oracle is None:
        oracle = "runtime" if domain else "reference"
    add(name, model, feeds, oracle)


def add(name, model, feeds, oracle):
    if oracle == "runtime":
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        want = session.run(None, feeds)
    else:
        want = ReferenceEvaluator(model).run(None, feeds)
    cases.append({
        "name": name, "oracle": oracle, "model": base64.b64encode(model.SerializeToString()).decode(),
        "inputs": {n: tensor(v) for n, v in feeds.items()}, "outputs": [tensor(np.asarray(v)) for v in want],
    })


def attention():
    q, k, v = f(1, 4, 3, 8), f(1, 4, 5, 8), f(1, 4, 5, 6)
    case("attention", "Attention", [q, k, v])
    case("attention scale", "Attention", [q, k, v], scale=0.5)
    case("attention causal", "Attention", [q, k, v], is_causal=1)
    case("attention float mask", "Attention", [q, k, v, f(3, 5)])
    mask = rng.integers(0, 2, (1, 4, 3, 5)).astype(bool)
    mask[:, :, 1] = False
    mask[:, :, 2, 0] = True
    case("attention bool mask with an empty row", "Attention", [q, k, v, mask])
    case("attention softcap", "Attention", [q, k, v], softcap=1.5)
    case("attention softcap and mask", "Attention", [q, k, v, mask], softcap=1.5)
    case("attention grouped", "Attention", [q, f(1, 2, 5, 8), f(1, 2, 5, 6)])
    case("attention grouped softcap", "Attention", [q, f(1, 2, 5, 8), f(1, 2, 5, 6)], softcap=2.0)
    case("attention flat", "Attention", [f(2, 3, 24), f(2, 5, 12), f(2, 5, 8)], q_num_heads=4, kv_num_heads=2)
    case("attention cache", "Attention", [q, k, v, None, f(1, 4, 2, 8), f(1, 4, 2, 6)], 3)
    case("attention cache causal", "Attention", [q, f(1, 4, 3, 8), f(1, 4, 3, 6), None, f(1, 4, 2, 8), f(1, 4, 2, 6)], 3, is_causal=1)
    case("attention causal and mask", "Attention", [q, k, v, f(3, 5)], is_causal=1)
    case("attention short mask", "Attention", [q, k, v, f(3, 4)])
    case("attention lengths", "Attention", [f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 4), None, None, None, i64(3, 5)])
    case("attention lengths causal", "Attention", [f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 4), None, None, None, i64(4, 5)], is_causal=1)
    case("attention scores", "Attention", [q, k, v], ["y", "", "", "s"])
    case("attention weights", "Attention", [q, k, v, mask], ["y", "", "", "s"], qk_matmul_output_mode=3)
    case("attention 23", "Attention", [q, k, v], opset=23)
    angle = f(6, 4)
    cos, sin = np.cos(angle), np.sin(angle)
    at = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int64)
    case("rotary", "RotaryEmbedding", [f(2, 2, 3, 8), cos, sin, at])
    case("rotary interleaved", "RotaryEmbedding", [f(2, 2, 3, 8), cos, sin, at], interleaved=1)
    case("rotary flat", "RotaryEmbedding", [f(2, 3, 16), cos, sin, at], num_heads=2)
    case("rotary partial", "RotaryEmbedding", [f(2, 2, 3, 12), cos, sin, at], rotary_embedding_dim=8)
    case("rotary without positions", "RotaryEmbedding", [f(2, 2, 3, 8), cos[at], sin[at]])
    case("tensor scatter", "TensorScatter", [f(2, 2, 5, 3), f(2, 2, 2, 3), i64(1, 3)])
    case("tensor scatter circular", "TensorScatter", [f(2, 5, 3), f(2, 3, 3), i64(4, 3)], mode="circular")
    case("tensor scatter without indices", "TensorScatter", [f(2, 5, 3), f(2, 3, 3)])


def norms():
    for opset in (23, 24):
        case(f"rms norm {opset}", "RMSNormalization", [f(2, 3, 4), f(4)], opset=opset)
    case("rms norm axis", "RMSNormalization", [f(2, 3, 4), f(3, 4)], axis=1, epsilon=1e-2)
    case("group norm 18", "GroupNormalization", [f(2, 4, 3), f(2), f(2)], opset=18, num_groups=2)
    case("group norm 21", "GroupNormalization", [f(2, 4, 3), f(4), f(4)], opset=21, num_groups=2)
    case("layer norm 17", "LayerNormalization", [f(2, 3, 4), f(3, 4), f(3, 4)], 3, opset=17, axis=1)
    case("swish", "Swish", [f(2, 5)], alpha=1.5)
    case("mish", "Mish", [f(2, 5, low=-8, high=8)], opset=18)
    case("gelu", "Gelu", [f(2, 5)], opset=20, oracle="runtime")
    case("gelu tanh", "Gelu", [f(2, 5)], opset=20, approximate="tanh", oracle="runtime")
    stats = [f(3), f(3), f(3), f(3, low=0.1)]
    for opset in (7, 9, 14, 15):
        case(f"batch norm {opset}", "BatchNormalization", [f(2, 3, 4), *stats], opset=opset, oracle="runtime")
    case("batch norm training", "BatchNormalization", [f(2, 3, 4), *stats], 3, opset=15, training_mode=1)
    for opset in (7, 10, 12, 13):
        case(f"dropout {opset}", "Dropout", [f(2, 3)], opset=opset, oracle="runtime")
    for opset in (11, 12, 13):
        for op in ("Softmax", "LogSoftmax"):
            case(f"{op} {opset}", op, [f(2, 3, 4)], opset=opset, axis=1, oracle="runtime")
        case(f"Hardmax {opset}", "Hardmax", [f(2, 3, 4)], opset=opset, axis=1, oracle="runtime")


def images():
    x = f(1, 2, 6, 5)
    case("lp pool 18", "LpPool", [x], opset=18, kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1], dilations=[2, 1], p=3, oracle="runtime")
    case("lp pool ceil", "LpPool", [x], opset=18, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, oracle="runtime")
    case("average pool 19 dilated", "AveragePool", [x], opset=19, kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    case("max pool indices", "MaxPool", [x], 2, opset=12, kernel_shape=[2, 2], strides=[2, 2], oracle="runtime")
    case("max pool uint8", "MaxPool", [integers(np.uint8, 1, 1, 4, 4)], opset=12, kernel_shape=[2, 2], oracle="runtime")
    case("max unpool", "MaxUnpool", [f(1, 1, 2, 2), np.array([[[[0, 3], [9, 14]]]], dtype=np.int64)], opset=11, kernel_shape=[2, 2], strides=[2, 2])
    case("col2im", "Col2Im", [f(1, 8, 9), i64(4, 4), i64(2, 2)], opset=18)
    case("col2im strides", "Col2Im", [f(2, 8, 4), i64(4, 4), i64(2, 2)], opset=18, strides=[2, 2])
    case("col2im pads and dilations", "Col2Im", [f(1, 4, 16), i64(4, 4), i64(2, 2)], opset=18, pads=[1, 1, 1, 1], dilations=[2, 2])
    case("col2im one dimension", "Col2Im", [f(1, 6, 4), i64(6), i64(3)], opset=18)
    case("col2im three dimensions", "Col2Im", [f(1, 8, 4), i64(2, 2, 5), i64(2, 2, 2)], opset=18)
    for align in (0, 1):
        case(f"affine grid {align}", "AffineGrid", [f(2, 2, 3), i64(2, 1, 3, 4)], opset=20, align_corners=align)
        case(f"affine grid 3d {align}", "AffineGrid", [f(1, 3, 4), i64(1, 1, 2, 3, 2)], opset=20, align_corners=align)
    for mode in ("linear", "cubic"):
        case(f"resize 18 antialias {mode}", "Resize", [x, None, np.array([1, 1, 0.5, 0.6], np.float32)], opset=18, mode=mode, antialias=1)
        case(f"resize 19 antialias {mode} inside", "Resize", [x, None, np.array([1, 1, 0.5, 0.6], np.float32)], opset=19, mode=mode, antialias=1, exclude_outside=1)
    for policy in ("not_larger", "not_smaller"):
        case(f"resize 18 {policy}", "Resize", [x, None, None, i64(9, 10)], opset=18, mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)
    case("resize 19 symmetric", "Resize", [x, None, np.array([0.6], np.float32)], opset=19, mode="linear", axes=[3], coordinate_transformation_mode="half_pixel_symmetric")
    case("resize 18 axes", "Resize", [x, None, np.array([2.0, 1.5], np.float32)], opset=18, mode="nearest", axes=[2, 3])
    case("resize 13 cubic", "Resize", [x, None, np.array([1, 1, 1.5, 1.5], np.float32)], opset=13, mode="cubic", cubic_coeff_a=-0.5, oracle="runtime")
    case("resize 11 sizes", "Resize", [x, f(0), f(0), i64(1, 2, 3, 4)], opset=11, mode="linear", coordinate_transformation_mode="align_corners", oracle="runtime")
    case("resize 10", "Resize", [x, np.array([1, 1, 2, 2], np.float32)], opset=10, mode="nearest", oracle="runtime")
    case("upsample 7", "Upsample", [x], opset=7, mode="nearest", scales=[1.0, 1.0, 2.0, 3.0], oracle="runtime")
    case("upsample 9", "Upsample", [x, np.array([1, 1, 2, 2], np.float32)], opset=9, mode="linear", oracle="runtime")
    grid = f(1, 3, 4, 2, low=-1.3, high=1.3)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            case(f"grid sample {mode} {padding}", "GridSample", [x, grid], opset=20, oracle="runtime", mode=mode, padding_mode=padding, align_corners=1 if padding == "border" else 0)
    rois, at = np.array([[0, 0, 3.5, 4], [1, 1, 4, 5.2], [-3, -2, 9, 8]], np.float32), i64(0, 0, 0)
    for opset in (10, 16):
        case(f"roi align {opset}", "RoiAlign", [x, rois, at], opset=opset, output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.8, oracle="runtime")
    case("roi align old pixels", "RoiAlign", [x, rois, at], opset=16, output_height=2, output_width=2, sampling_ratio=1, coordinate_transformation_mode="output_half_pixel", oracle="runtime")
    for mode in ("DCR", "CRD"):
        case(f"depth to space {mode}", "DepthToSpace", [f(1, 8, 2, 3)], opset=13, blocksize=2, mode=mode)
    case("center crop pad", "CenterCropPad", [f(4, 7), i64(7, 4)], opset=18)
    case("center crop pad axes", "CenterCropPad", [f(3, 4, 5), i64(8, 2)], opset=18, axes=[-1, 0])
    case("det", "Det", [f(3, 4, 4)], opset=22)
    case("det singular", "Det", [np.array([[1, 2], [2, 4]], np.float32)], opset=11)
    case("det swapped", "Det", [np.array([[0, 2, 1], [3, 0, 0], [0, 0, 4]], np.float32)], opset=11)
    case("conv transpose", "ConvTranspose", [f(1, 2, 3, 3), f(2, 3, 2, 2), f(3)], opset=11, strides=[2, 2], output_padding=[1, 0], oracle="runtime")


def shapes():
    case("split 18 uneven", "Split", [f(7, 2)], 3, opset=18, num_outputs=3)
    case("split 13", "Split", [f(6), i64(2, 4)], 2, opset=13)
    case("split 11", "Split", [f(6)], 2, opset=11, split=[2, 4], oracle="runtime")
    case("split 2", "Split", [f(4, 2)], 2, opset=7, axis=0, oracle="runtime")
    case("pad 19 wrap", "Pad", [f(2, 4), i64(1, 3, 0, 6)], opset=19, mode="wrap")
    case("pad 18 axes", "Pad", [f(2, 4), i64(1, 2), np.array(9, np.float32), i64(-1)], opset=18)
    case("pad 10", "Pad", [f(2, 4)], opset=10, pads=[0, 1, 2, 0], value=1.5, oracle="runtime")
    case("pad 13 reflect", "Pad", [f(2, 4), i64(0, 3, 1, 2)], opset=13, mode="reflect")
    for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"):
        case(f"{op} 18", op, [f(2, 3, 2), i64(0, -1)], opset=18, keepdims=0)
        case(f"{op} 13", op, [f(2, 3, 2)], opset=13, axes=[1], keepdims=1, oracle="runtime")
    case("reduce log sum 18", "ReduceLogSum", [f(2, 3, low=0.5), i64(1)], opset=18)
    case("reduce noop", "ReduceSum", [f(2, 3)], opset=18, noop_with_empty_axes=1)
    case("reduce sum 11", "ReduceSum", [f(2, 3)], opset=11, axes=[0], oracle="runtime")
    case("reduce max 20 bool", "ReduceMax", [np.array([[True, False], [False, False]]), i64(1)], opset=20)
    case("reduce min 20 bool", "ReduceMin", [np.array([[True, False], [True, True]]), i64(1)], opset=20)
    case("nonzero", "NonZero", [np.array([[1, 0], [2, 3]], np.float32)], opset=13)
    case("unique axis", "Unique", [np.array([[2, 1], [2, 1], [0, 3]], np.float32)], 4, opset=11, axis=0)
    case("unique order", "Unique", [np.array([3, 1, 3, 2], np.float32)], 4, opset=11, sorted=0)
    case("compress", "Compress", [f(3, 2), np.array([True, False, True])], opset=11, axis=0)
    case("slice 9", "Slice", [f(4, 5)], opset=9, starts=[1, -3], ends=[3, 1000], axes=[0, 1], oracle="runtime")
    case("slice 13 back", "Slice", [f(6), i64(-1), i64(-(2**63)), i64(0), i64(-2)], opset=13, oracle="runtime")
    case("slice 13 far step", "Slice", [f(6), i64(1), i64(2**63 - 1), i64(0), i64(2**63 - 1)], opset=13, oracle="runtime")
    case("squeeze 11", "Squeeze", [f(1, 3, 1)], opset=11, axes=[0], oracle="runtime")
    case("squeeze 13", "Squeeze", [f(1, 3, 1), i64(-1)], opset=13)
    case("unsqueeze 11", "Unsqueeze", [f(3)], opset=11, axes=[0, 2], oracle="runtime")
    case("topk 1", "TopK", [f(2, 5)], 2, opset=9, k=2, oracle="runtime")
    case("topk 10", "TopK", [f(2, 5), i64(3)], 2, opset=10, oracle="runtime")
    case("topk 11 smallest", "TopK", [f(4, 5), i64(3)], 2, opset=11, largest=0, axis=0)
    case("clip 6", "Clip", [f(6)], opset=7, min=-0.5, max=0.7, oracle="runtime")
    case("clip 11", "Clip", [f(6), None, np.array(0.3, np.float32)], opset=11)
    case("gemm 7", "Gemm", [f(2, 3), f(4, 3), f(4)], opset=7, transB=1, alpha=0.5, beta=2.0, oracle="runtime")
    case("gemm 13", "Gemm", [f(3, 2), f(3, 4)], opset=13, transA=1)
    case("max 8", "Max", [f(2, 3), f(3), f(2, 1)], opset=8, oracle="runtime")
    case("one hot 9", "OneHot", [i64(0, 2, 5), i64(4), np.array([0.5, 2], np.float32)], opset=9, oracle="runtime")
    case("one hot 11", "OneHot", [i64(0, -1, 5), i64(4), np.array([0.5, 2], np.float32)], opset=11, oracle="runtime")
    case("arg max last", "ArgMax", [np.array([[2, 1, 2], [0, 3, 3]], np.float32)], opset=13, axis=1, select_last_index=1)
    case("cumsum", "CumSum", [f(2, 3), np.array(1, np.int64)], opset=14, exclusive=1, reverse=1)
    case("shape 15", "Shape", [f(2, 3, 4)], opset=15, start=1, end=-1)
    case("einsum", "Einsum", [f(2, 3, 4), f(2, 4, 5)], opset=12, equation="bij,bjk->bki")
    case("mod 13", "Mod", [np.array([-7, 7, -7], np.int32), np.array([3, -3, -3], np.int32)], opset=13)
    case("isinf 20", "IsInf", [np.array([np.inf, -np.inf, 1], np.float32)], opset=20, detect_negative=0)


def numbers():
    for to in ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32"):
        case(f"cast int64 to {to}", "Cast", [i64(0, 1, 127, 128, 255, 256, -1, -129, 32768, 65535, 70000, 2**31, 2**32 + 5, -(2**40) + 3)], opset=13, to=getattr(TensorProto, to))
    case("cast float to UINT8", "Cast", [np.array([0, 1.9, 254.7, 3.2], np.float32)], opset=13, to=TensorProto.UINT8)
    case("cast int8 to uint8", "Cast", [np.array([-1, -128, 5], np.int8)], opset=13, to=TensorProto.UINT8)
    case("cast uint8 to float", "Cast", [np.array([0, 255], np.uint8)], opset=9, to=TensorProto.FLOAT)
    case("cast 6", "Cast", [np.array([0.5, 0, -2.5], np.float32)], opset=7, to=TensorProto.BOOL, oracle="runtime")
    for op in ("Add", "Sub", "Mul"):
        for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
            case(f"{op} {np.dtype(dtype)}", op, [integers(dtype, 6), integers(dtype, 6)], opset=14)
    for op in ("And", "Or", "Xor"):
        for dtype in (np.uint8, np.int8, np.int32, np.uint32, np.int64):
            case(f"Bitwise{op} {np.dtype(dtype)}", f"Bitwise{op}", [integers(dtype, 3, 4), integers(dtype, 4)], opset=18)
    for dtype in (np.uint8, np.int8, np.uint16, np.int32, np.int64):
        case(f"BitwiseNot {np.dtype(dtype)}", "BitwiseNot", [integers(dtype, 5)], opset=18)
    for direction in ("LEFT", "RIGHT"):
        for dtype in (np.uint8, np.uint16, np.uint32):
            case(f"BitShift {direction} {np.dtype(dtype)}", "BitShift", [integers(dtype, 6), np.array([0, 1, 2, 5, 7, 3], dtype)], opset=11, direction=direction)


def quantised():
    x = f(2, 3, 4, low=-5, high=5)
    s = np.array(0.05, np.float32)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        case(f"quantize {np.dtype(dtype)}", "QuantizeLinear", [x, s, np.array(7, dtype)], opset=21)
    case("quantize halves", "QuantizeLinear", [np.array([0.25, 0.75, 1.25, -0.25], np.float32), np.array(0.5, np.float32), np.array(1, np.int8)], opset=13)
    case("quantize without zero", "QuantizeLinear", [x, s], opset=10)
    case("quantize axis", "QuantizeLinear", [x, f(3, low=0.01, high=0.2), integers(np.uint8, 3)], opset=13, axis=1)
    case("dequantize axis", "DequantizeLinear", [integers(np.int8, 2, 3), f(3), integers(np.int8, 3)], opset=13, axis=1, oracle="runtime")
    case("dequantize int32", "DequantizeLinear", [integers(np.int32, 5, low=-1000, high=1000), s], opset=13, oracle="runtime")
    case("dequantize 23 to float16", "DequantizeLinear", [integers(np.int8, 5), s], opset=23, output_dtype=TensorProto.FLOAT16)
    case("quantize 23 in float32", "QuantizeLinear", [x.astype(np.float16), s.astype(np.float16), np.array(3, np.int8)], opset=23, precision=TensorProto.FLOAT)
    case("dynamic quantize", "DynamicQuantizeLinear", [x], 3, opset=11)
    a, b = integers(np.uint8, 2, 3, 4), integers(np.int8, 4, 5)
    case("matmul integer", "MatMulInteger", [a, b, np.array(9, np.uint8), np.array(-3, np.int8)], opset=10)
    case("matmul integer long", "MatMulInteger", [integers(np.uint8, 1, 600, low=200), integers(np.int8, 600, 2, low=100)], opset=10)
    case("matmul integer columns", "MatMulInteger", [a, b, np.array(9, np.uint8), integers(np.int8, 5)], opset=10, oracle="runtime")
    case("conv integer", "ConvInteger", [integers(np.uint8, 1, 2, 4, 4), integers(np.int8, 3, 2, 2, 2), np.array(100, np.uint8), np.array(0, np.int8)], opset=10, pads=[1, 0, 0, 1], oracle="runtime")
    q = [integers(np.uint8, 1, 2, 5, 5), np.array(0.02, np.float32), np.array(128, np.uint8), integers(np.int8, 4, 2, 3, 3)]
    case("qlinear conv", "QLinearConv", [*q, f(4, low=0.01, high=0.05), np.zeros(4, np.int8), np.array(0.06, np.float32), np.array(100, np.uint8), integers(np.int32, 4, low=-500, high=500)], opset=10, pads=[1, 1, 1, 1], strides=[2, 1], oracle="runtime")
    case("qlinear conv groups", "QLinearConv", [integers(np.uint8, 1, 4, 5, 5), *q[1:3], q[3], np.array(0.03, np.float32), np.array(0, np.int8), np.array(0.05, np.float32), np.array(90, np.uint8)], opset=10, group=2, oracle="runtime")
    case("qlinear matmul", "QLinearMatMul", [integers(np.uint8, 3, 6), np.array(0.02, np.float32), np.array(120, np.uint8), integers(np.uint8, 6, 2), np.array(0.03, np.float32), np.array(130, np.uint8), np.array(0.07, np.float32), np.array(110, np.uint8)], opset=10, oracle="runtime")
    for op in ("QLinearAdd", "QLinearMul"):
        case(op, op, [integers(np.uint8, 2, 3), np.array(0.1, np.float32), np.array(100, np.uint8), integers(np.uint8, 3), np.array(0.2, np.float32), np.array(50, np.uint8), np.array(0.4, np.float32), np.array(80, np.uint8)], opset=17, domain="com.microsoft")
    w = integers(np.int8, 4, 5)
    case("matmul integer to float", "MatMulIntegerToFloat", [integers(np.uint8, 3, 4), w, np.array(0.1, np.float32), f(5, low=0.01, high=0.1), np.array(120, np.uint8), np.zeros(5, np.int8), f(5)], opset=17, domain="com.microsoft")
    case("dynamic quantize matmul", "DynamicQuantizeMatMul", [f(3, 4), w, f(5, low=0.01, high=0.1), np.zeros(5, np.int8), f(5)], opset=17, domain="com.microsoft")


def network():
    """A small network of what quantisation looks for: convolution, pooling, products."""
    weights = {"w": f(4, 2, 3, 3, low=-0.5, high=0.5), "b": f(4), "m": f(16, 6, low=-0.5, high=0.5), "n": f(6)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["g"]),
        helper.make_node("Add", ["g", "n"], ["y"]),
    ]
    shaped = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2, 8, 8])]
    graph = helper.make_graph(nodes, "g", shaped, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 6])],
                              [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantised_networks():
    """The network as ONNX Runtime's tools quantise it."""
    from onnxruntime import quantization as q

    class Samples(q.CalibrationDataReader):
        def __init__(self):
            self.rest = [{"x": f(2, 2, 8, 8)} for _ in range(4)]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    with tempfile.TemporaryDirectory() as folder:
        plain, out = folder + "/plain.onnx", folder + "/out.onnx"
        onnx.save(network(), plain)
        feeds = {"x": f(2, 2, 8, 8)}
        q.quantize_dynamic(plain, out, weight_type=q.QuantType.QInt8, op_types_to_quantize=["MatMul"])
        add("network quantised when it runs", onnx.load(out), feeds, "runtime")
        for style in (q.QuantFormat.QDQ, q.QuantFormat.QOperator):
            for channels in (False, True):
                q.quantize_static(plain, out, Samples(), quant_format=style, per_channel=channels, weight_type=q.QuantType.QInt8)
                add(f"network quantised {style} {'by channels' if channels else ''}".strip(), onnx.load(out), feeds, "runtime")


def microsoft():
    m = {"opset": 17, "domain": "com.microsoft"}
    case("ms attention", "Attention", [f(2, 3, 8), f(8, 24), f(24)], num_heads=2, **m)
    case("ms attention causal", "Attention", [f(2, 3, 8), f(8, 24), f(24)], num_heads=2, unidirectional=1, **m)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    case("ms attention mask", "Attention", [f(2, 3, 8), f(8, 24), f(24), mask], num_heads=2, **m)
    case("ms attention lengths", "Attention", [f(2, 3, 8), f(8, 24), f(24), np.array([2, 3], np.int32)], num_heads=2, **m)
    case("ms attention past", "Attention", [f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 4, 4)], 2, num_heads=2, unidirectional=1, **m)
    case("ms attention sizes", "Attention", [f(1, 3, 8), f(8, 20), f(20)], num_heads=2, qkv_hidden_sizes=[8, 8, 4], **m)
    case("ms multi-head", "MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8)], num_heads=2, **m)
    case("ms multi-head bias", "MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8), f(24)], num_heads=2, **m)
    case("ms multi-head scores", "MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8), None, None, f(2, 2, 3, 4)], num_heads=2, scale=0.3, **m)
    case("ms multi-head padding", "MultiHeadAttention", [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8), None, np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)], num_heads=2, **m)
    case("ms multi-head heads of keys", "MultiHeadAttention", [f(2, 3, 8), f(2, 2, 4, 4), f(2, 2, 4, 4)], num_heads=2, **m)
    case("ms multi-head causal", "MultiHeadAttention", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8)], num_heads=2, unidirectional=1, **m)
    case("ms multi-head past", "MultiHeadAttention", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, None, f(2, 2, 2, 4), f(2, 2, 2, 4)], 3, num_heads=2, **m)
    words = np.array([[1, 3, 2], [0, 4, 4]], np.int32)
    segments = np.array([[0, 0, 1], [0, 1, 1]], np.int32)
    tables = [f(5, 8), f(4, 8), f(2, 8), f(8), f(8)]
    case("ms embed", "EmbedLayerNormalization", [words, segments, *tables, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], 2, **m)
    case("ms embed without segments", "EmbedLayerNormalization", [words, None, tables[0], tables[1], None, *tables[3:]], 2, **m)
    case("ms skip layer norm", "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], ["y", "", "", "sum"], **m)
    case("ms skip rms norm", "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], epsilon=1e-5, **m)
    case("ms bias gelu", "BiasGelu", [f(2, 8), f(8)], **m)
    case("ms fast gelu", "FastGelu", [f(2, 8), f(8)], **m)
    case("ms quick gelu", "QuickGelu", [f(2, 8)], **m)
    for activation in ("Relu", "Tanh", "Sigmoid"):
        case(f"ms fused conv {activation}", "FusedConv", [f(1, 2, 4, 4), f(3, 2, 3, 3), f(3)], activation=activation, **m)
    case("ms fused conv sum", "FusedConv", [f(1, 2, 4, 4), f(3, 2, 3, 3), f(3), f(1, 3, 2, 2)], activation="Relu", **m)
    case("ms fused conv leaky", "FusedConv", [f(1, 2, 4, 4), f(3, 2, 3, 3), f(3)], activation="LeakyRelu", activation_params=[0.2], **m)
    case("ms fused matmul", "FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], transA=1, transB=1, alpha=0.5, **m)
    case("ms rotary", "RotaryEmbedding", [f(2, 3, 16), np.array([[0, 1, 2], [3, 4, 5]], np.int64), np.cos(f(6, 4)), np.sin(f(6, 4))], **m)
    case("ms rotary offset", "RotaryEmbedding", [f(1, 2, 3, 8), np.array([2], np.int64), np.cos(f(6, 4)), np.sin(f(6, 4))], interleaved=1, **m)


def few_bits():
    m = {"opset": 17, "domain": "com.microsoft", "K": 40, "N": 3, "block_size": 16}

    def weight(bits):
        return integers(np.uint8, 3, 3, 16 * bits // 8)

    case("ms matmul 4 bits", "MatMulNBits", [f(2, 40), weight(4), f(9, low=0.01, high=0.1)], bits=4, **m)
    case("ms matmul 4 bits zeros", "MatMulNBits", [f(2, 2, 40), weight(4), f(9, low=0.01, high=0.1), integers(np.uint8, 6)], bits=4, **m)
    case("ms matmul 4 bits bias", "MatMulNBits", [f(2, 40), weight(4), f(9, low=0.01, high=0.1), None, None, f(3)], bits=4, **m)
    case("ms matmul 8 bits", "MatMulNBits", [f(2, 40), weight(8), f(9, low=0.001, high=0.01), integers(np.uint8, 9)], bits=8, **m)


for family in (attention, norms, images, shapes, numbers, quantised, microsoft, quantised_networks, few_bits):
    family()
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
