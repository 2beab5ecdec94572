// Runs programs on Dawn: reads a JSON list of them from standard input and
// writes what became of them as the last line of standard output, before which
// Dawn may print warnings.
const { createRequire } = require('module');
const { create, globals } = createRequire(process.argv[2] + '/')('webgpu');
Object.assign(globalThis, globals);

async function run(device, program) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: program.source });
  const info = await module.getCompilationInfo();
  const refused = await device.popErrorScope();
  const messages = info.messages.filter((m) => m.type === 'error')
    .map((m) => ({ line: m.lineNum, column: m.linePos, text: m.message }));
  if (refused || !program.buffers) {
    if (refused && messages.length === 0) messages.push({ line: 0, column: 0, text: refused.message });
    return { messages };
  }
  device.pushErrorScope('validation');
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, constants: program.overrides ?? {} } });
  const buffers = program.buffers.map((b) => {
    const data = Buffer.from(b.data, 'base64');
    const kind = b.uniform ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE;
    const buffer = device.createBuffer({ size: data.length, usage: kind | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  if (buffers.length > 0) {
    pass.setBindGroup(0, device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, i) => ({ binding: program.buffers[i].binding, resource: { buffer } })),
    }));
  }
  pass.dispatchWorkgroups(...program.groups);
  pass.end();
  const reads = buffers.map((b) => {
    const read = device.createBuffer({ size: b.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(b, 0, read, 0, b.size);
    return read;
  });
  device.queue.submit([encoder.finish()]);
  const failed = await device.popErrorScope();
  if (failed) return { messages: [{ line: 0, column: 0, text: failed.message }] };
  const out = [];
  for (const r of reads) {
    await r.mapAsync(GPUMapMode.READ);
    out.push(Buffer.from(r.getMappedRange()).toString('base64'));
    r.unmap();
  }
  return { messages: [], buffers: out };
}

(async () => {
  globalThis.gpu = create([]); // Dawn ends the process when this is collected
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('Dawn has no adapter');
  const wanted = ['shader-f16'].filter((f) => adapter.features.has(f));
  const device = await adapter.requestDevice({ requiredFeatures: wanted });
  const chunks = [];
  for await (const c of process.stdin) chunks.push(c);
  const results = [];
  for (const p of JSON.parse(Buffer.concat(chunks))) results.push(await run(device, p));
  process.stdout.write('\n' + JSON.stringify({ features: wanted, results }), () => process.exit(0));
})().catch((e) => { console.error(e); process.exit(1); });
