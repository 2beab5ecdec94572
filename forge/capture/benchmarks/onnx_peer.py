"""ONNX Runtime on its CPU provider: the program as an ONNX model."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from program import Unsupported, angles, plain, scale_of

KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64}

# What files hold besides.
KINDS_OF = KINDS | {"tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_, "tensor(double)": np.float64, "tensor(float16)": np.float16}

OPSET = 23  # the first with Attention, RMSNormalization and RotaryEmbedding

settings = {"threads": 1}


def versions(threads):
    settings["threads"] = threads
    return {"onnxruntime": ort.__version__, "onnx": onnx.__version__, "opset": str(OPSET)}


class Model:
    """Collects the nodes and initializers of a model."""

    def __init__(self, program):
        self.program = program
        self.nodes, self.initializers, self.known = [], [], set()
        for n in program.nodes:
            self.add(n)

    def constant(self, array):
        name = f"k{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def value(self, name):
        if name in self.program.constants and name not in self.known:
            self.known.add(name)
            self.initializers.append(numpy_helper.from_array(self.program.constants[name], name))
        return name

    def emit(self, op, inputs, output, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [output], **{k: v for k, v in attrs.items() if v is not None}))

    def add(self, n):
        v = [self.value(name) for name in n.inputs]
        out = n.output
        simple = {"add": "Add", "sub": "Sub", "mul": "Mul", "relu": "Relu"}
        if n.op in simple:
            self.emit(simple[n.op], v, out)
        elif n.op == "linear":
            plain(n)
            self.linear(n, v, out)
        elif n.op == "matmul":
            plain(n)
            self.emit("MatMul", v, out)
        elif n.op == "gelu":
            self.emit("Gelu", v, out, approximate=n.approximate)
        elif n.op == "silu":
            self.emit("Sigmoid", v, out + ".sigmoid")
            self.emit("Mul", [v[0], out + ".sigmoid"], out)
        elif n.op == "softmax":
            self.emit("Softmax", v, out, axis=n.axis)
        elif n.op == "layer_norm":
            self.emit("LayerNormalization", v, out, axis=n.axis, epsilon=n.eps)
        elif n.op == "rms_norm":
            self.emit("RMSNormalization", v, out, axis=n.axis, epsilon=n.eps)
        elif n.op == "reshape":
            self.emit("Reshape", [v[0], self.constant(np.array(n.shape, np.int64))], out)
        elif n.op == "transpose":
            self.emit("Transpose", v, out, perm=n.perm)
        elif n.op == "mean":
            self.emit("ReduceMean", [v[0], self.constant(np.array(n.axes, np.int64))], out, keepdims=int(n.keepdims))
        elif n.op == "gather":
            self.emit("Gather", v, out, axis=n.axis)
        elif n.op == "conv2d":
            pads = n.padding if len(n.padding) == 4 else n.padding * 2
            self.emit("Conv", v, out, strides=n.stride, dilations=n.dilation, pads=pads, group=n.groups)
        elif n.op == "sdpa":
            self.emit("Attention", v, out, is_causal=int(n.causal), scale=scale_of(n))
        elif n.op == "rope":
            self.rope(n, v, out)
        else:
            raise Unsupported(f"ONNX peer: {n.op} is not written")

    def linear(self, n, v, out):
        if len(n.shapes[0]) == 2 and len(v) == 3:
            self.emit("Gemm", v, out)
        elif len(v) == 3:
            self.emit("MatMul", v[:2], out + ".product")
            self.emit("Add", [out + ".product", v[2]], out)
        else:
            self.emit("MatMul", v, out)

    def rope(self, n, v, out):
        """The tables of cosines hold the positions of this run: from 0 to the last."""
        at = self.program.arguments[self.program.inputs.index(n.inputs[1])]
        tokens, last = n.shape[-2], int(np.max(at)) + n.shape[-2]
        table = angles(n, np.zeros(1, np.int64), last)[0, 0]
        ids = v[1] + f".ids{tokens}"
        if ids not in self.known:
            self.known.add(ids)
            column = self.constant(np.array([-1, 1], np.int64))
            self.emit("Reshape", [v[1], column], ids + ".column")
            self.emit("Add", [ids + ".column", self.constant(np.arange(tokens, dtype=np.int64)[None])], ids)
        kind = np.float32
        self.emit("RotaryEmbedding", [v[0], self.constant(np.cos(table).astype(kind)), self.constant(np.sin(table).astype(kind)), ids], out)

    def proto(self):
        kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32}
        p = self.program
        shapes = {n.output: n.shape for n in p.nodes}
        inputs = [helper.make_tensor_value_info(name, kinds[str(a.dtype)], a.shape) for name, a in zip(p.inputs, p.arguments)]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in p.outputs]
        graph = helper.make_graph(self.nodes, p.name, inputs, outputs, self.initializers)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets))
        onnx.checker.check_model(model)
        return model


def session(model):
    """The session of a model, which is its bytes or its path."""
    o = ort.SessionOptions()
    o.intra_op_num_threads = settings["threads"]
    o.inter_op_num_threads = 1
    o.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    o.log_severity_level = 3
    return ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])


class Peer:
    """A session whose inputs and outputs are bound once: its quickest call."""

    cache = "none"

    def __init__(self, program):
        self.session = session(Model(program).proto().SerializeToString())
        self.bind(dict(zip(program.inputs, program.arguments)))
        for output in self.session.get_outputs():
            self.bind_result(output.name, np.zeros(output.shape, KINDS[output.type]))

    def bind(self, inputs):
        self.binding, self.results = self.session.io_binding(), []
        self.values = {name: ort.OrtValue.ortvalue_from_numpy(a) for name, a in inputs.items()}
        for name, value in self.values.items():
            self.binding.bind_ortvalue_input(name, value)

    def bind_result(self, name, room):
        self.results.append(ort.OrtValue.ortvalue_from_numpy(room))
        self.binding.bind_ortvalue_output(name, self.results[-1])

    def __call__(self):
        self.session.run_with_iobinding(self.binding)

    def arrays(self):
        self()
        return self.binding.copy_outputs_to_cpu()


class FilePeer(Peer):
    """A model file as it is. A first run tells the shapes of its results."""

    def __init__(self, file):
        self.session = session(file.path)
        kinds = {v.name: KINDS_OF[v.type] for v in self.session.get_inputs()}
        inputs = {name: a.astype(kinds[name], copy=False) for name, a in file.inputs.items() if name in kinds}
        rooms = [np.empty_like(y) for y in self.session.run(file.outputs, inputs)]
        self.bind(inputs)
        for name, room in zip(file.outputs, rooms):
            self.bind_result(name, room)
