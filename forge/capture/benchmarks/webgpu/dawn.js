// Measures in Node, behind the texts of runner.js and measure.js. Arguments: the folder
// of ONNX Runtime Web, the plan, the size and the number of samples.

const { create, globals } = await import("webgpu");
const { readFileSync } = await import("node:fs");
const { pathToFileURL } = await import("node:url");
const [dist, file, n, samples] = process.argv.slice(1);

// ONNX Runtime Web keeps its memory in a SharedArrayBuffer, as browsers allow here and
// Dawn for Node does not: its bytes are copied on the way, as a browser copies them.
const { writeBuffer } = globals.GPUQueue.prototype;
globals.GPUQueue.prototype.writeBuffer = function (buffer, offset, data, from = 0, size = undefined) {
  if (data.buffer instanceof SharedArrayBuffer) {
    return writeBuffer.call(this, buffer, offset, new Uint8Array(data.slice(from, size === undefined ? undefined : from + size)));
  }
  return size === undefined ? writeBuffer.call(this, buffer, offset, data, from) : writeBuffer.call(this, buffer, offset, data, from, size);
};

Object.assign(globalThis, globals);
const gpu = create([]);
Object.defineProperty(globalThis, "navigator", { value: { gpu }, configurable: true });
const folder = pathToFileURL(dist + "/");
const ort = await import(new URL("ort.webgpu.mjs", folder));
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = folder.href;
const result = await beside(gpu, ort, JSON.parse(readFileSync(file, "utf8")), +n, +samples);
process.stdout.write(JSON.stringify(result), () => process.exit(0));
