// A product of square matrices by a plan of backend wgsl and by ONNX Runtime Web's
// provider for WebGPU, in turn. This text stands behind that of webgpu/runner.js, in
// Node and in a page.

// matmulModel is an ONNX file: one MatMul of two matrices of n rows and n columns.
function matmulModel(n) {
  const varint = (x) => (x < 128 ? [x] : [(x & 127) | 128, ...varint(x >> 7)]);
  const field = (number, bytes) => [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes];
  const text = (number, s) => field(number, [...new TextEncoder().encode(s)]);
  const integer = (number, x) => [...varint(number << 3), ...varint(x)];
  const dim = field(1, integer(1, n));
  const value = (name) => [...text(1, name), ...field(2, field(1, [...integer(1, 1), ...field(2, [...dim, ...dim])]))]; // float
  const node = [...text(1, "a"), ...text(1, "b"), ...text(2, "y"), ...text(4, "MatMul")];
  const graph = [...field(1, node), ...text(2, "matmul"), ...field(11, value("a")), ...field(11, value("b")), ...field(12, value("y"))];
  return new Uint8Array([...integer(1, 8), ...field(7, graph), ...field(8, integer(2, 17))]); // IR 8, opset 17
}

// uniform gives numbers between -1 and 1 that are the same in each run.
function uniform(n, seed) {
  let state = seed;
  return Float32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

// worst is the largest difference of some elements from float64, relative to what the
// terms of a sum add up to.
function worst(n, a, b, y) {
  let most = 0;
  for (let at = 0; at < n * n; at += 1009) {
    let [sum, size] = [0, 0];
    for (let k = 0, i = Math.floor(at / n) * n, j = at % n; k < n; k++, j += n) {
      sum += a[i + k] * b[j];
      size += Math.abs(a[i + k] * b[j]);
    }
    most = Math.max(most, Math.abs(y[at] - sum) / size);
  }
  return most;
}

// ours gives a call of the plan: both matrices go to the device, and their product comes.
async function ours(gpu, plan, a, b) {
  const { device, name } = await openDevice(gpu, plan);
  const program = await Program.compile(device, plan);
  const inputs = plan.buffers.flatMap(({ kind }, i) => (kind === "input" ? [i] : []));
  const output = plan.buffers.findIndex(({ kind }) => kind === "output");
  const call = async () => {
    await program.write(inputs[0], a);
    await program.write(inputs[1], b);
    await program.run();
    return new Float32Array((await program.read(output)).buffer);
  };
  return { call, name };
}

// theirs gives the same call of ONNX Runtime Web.
async function theirs(ort, n, a, b) {
  const session = await ort.InferenceSession.create(matmulModel(n), { executionProviders: ["webgpu"] });
  const feeds = { a: new ort.Tensor("float32", a, [n, n]), b: new ort.Tensor("float32", b, [n, n]) };
  return { call: async () => (await session.run(feeds)).y.getData() };
}

// Bounds of a measurement: so many calls of each at least, and then none that begins
// after so many milliseconds.
const LEAST = 6;
const BUDGET = 600_000;

// beside times both in turn, after a first call of each, which compiles its shaders.
async function beside(gpu, ort, plan, n, samples) {
  const [a, b] = [uniform(n * n, 1), uniform(n * n, 2)];
  const clock = async (f) => {
    const start = performance.now();
    const value = await f();
    return { value, ms: performance.now() - start };
  };
  const result = { n, samples: { forge: [], onnxruntime: [] }, first: {}, error: {} };
  const calls = {};
  for (const [who, make] of [["forge", () => ours(gpu, plan, a, b)], ["onnxruntime", () => theirs(ort, n, a, b)]]) {
    const made = await clock(make);
    const first = await clock(made.value.call);
    calls[who] = made.value.call;
    result.adapter ??= made.value.name;
    result.first[who] = made.ms + first.ms;
    result.error[who] = worst(n, a, b, first.value);
  }
  const begin = performance.now();
  for (let i = 0; i < samples && (i < LEAST || performance.now() - begin < BUDGET); i++) {
    const order = i % 2 ? ["onnxruntime", "forge"] : ["forge", "onnxruntime"];
    for (const who of order) result.samples[who].push((await clock(calls[who])).ms);
  }
  return result;
}
