// Runs plans of package wgsl on a device of WebGPU. This text is a part of every
// script that does: of a process of Node, of a page, and of an output in a notebook,
// each of which wraps it in a scope of its own.

// PlanError is why a plan did not run. Its kind is one of those of Go's webgpu.Error;
// a shader that does not compile also has the module, line and column.
class PlanError extends Error {
  constructor(kind, message, place = {}) {
    super(message);
    this.kind = kind;
    this.place = place;
  }
}

// adapterName describes an adapter for a person.
function adapterName(adapter) {
  const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info ?? {};
  const name = [vendor, architecture].filter(Boolean).join(" ") || device || "an unnamed adapter";
  return name + (description ? ` (${description})` : "") + (isFallbackAdapter ? ", in software" : "");
}

// findAdapter asks for an adapter, of which each gives one device.
async function findAdapter(gpu) {
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new PlanError("adapter", "WebGPU is there, and finds no GPU that it may use");
  return adapter;
}

// openDevice asks for a device with the features and limits of a plan, and no more:
// a plan that uses what it does not name fails here as it would elsewhere.
async function openDevice(gpu, plan) {
  const adapter = await findAdapter(gpu);
  const name = adapterName(adapter);
  for (const feature of plan.features) {
    if (!adapter.features.has(feature)) throw new PlanError("feature", `${name} has no ${feature}, which ${plan.name} needs`);
  }
  for (const [limit, need] of Object.entries(plan.limits)) {
    const has = adapter.limits[limit];
    if (limit.startsWith("min") ? has > need : has < need) {
      throw new PlanError("limit", `${name} has a ${limit} of ${has}, and ${plan.name} needs ${need}`);
    }
  }
  try {
    const device = await adapter.requestDevice({ requiredFeatures: plan.features, requiredLimits: plan.limits });
    return { device, name };
  } catch (e) {
    throw new PlanError("adapter", `${name} gives no device: ${e.message}`);
  }
}

// Kinds of errors by the scopes that catch them, the innermost first.
const SCOPES = [["validation", "validation"], ["out-of-memory", "memory"], ["internal", "internal"]];

// caught runs f, which must not wait, and throws the error that it makes on the device.
async function caught(device, what, f) {
  for (const [filter] of [...SCOPES].reverse()) device.pushErrorScope(filter);
  let result, thrown;
  try {
    result = f();
  } catch (e) {
    thrown = new PlanError("validation", `${what}: ${e.message}`);
  }
  const found = await Promise.all(SCOPES.map(() => device.popErrorScope()));
  if (thrown) throw thrown;
  found.forEach((error, i) => {
    if (error) throw new PlanError(SCOPES[i][1], `${what}: ${error.message || SCOPES[i][0]}`);
  });
  return result;
}

// pipelineKey is the same for dispatches of one pipeline: equal nodes share a module.
function pipelineKey({ module, entry, bindings }) {
  return [module, entry, ...bindings.map((b) => !!b.write)].join();
}

// Program is a plan on a device, compiled, with its buffers. What goes wrong is thrown
// as a PlanError.
class Program {
  // compile has shaders compiled aside, on threads, so that the page that waits goes on;
  // a process that does nothing else has them sooner without.
  static async compile(device, plan, aside = true) {
    const p = new Program(device, plan);
    p.aside = aside;
    try {
      await p.#orLost(p.#allocate());
      await p.#orLost(p.#build());
    } catch (e) {
      p.close();
      throw e;
    }
    return p;
  }

  constructor(device, plan) {
    this.device = device;
    this.plan = plan;
    this.buffers = [];
    this.steps = [];
    this.lost = device.lost.then(({ reason, message }) => {
      throw new PlanError("lost", `the device was lost (${reason || "unknown"}): ${message}`);
    });
    this.lost.catch(() => {}); // it counts where something waits for the device
  }

  #orLost(promise) {
    promise.catch(() => {}); // a lost device is the reason for what fails with it
    return Promise.race([promise, this.lost]);
  }

  async #allocate() {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    for (const { name, bytes } of this.plan.buffers) {
      this.buffers.push(await caught(this.device, `buffer ${name} of ${bytes} bytes`, () => this.device.createBuffer({ size: bytes, usage })));
    }
  }

  async #build() {
    const modules = await this.#modules();
    const pipelines = new Map();
    for (const d of this.plan.dispatches) {
      const key = pipelineKey(d);
      if (!pipelines.has(key)) pipelines.set(key, this.#pipeline(modules[d.module], d));
    }
    for (const p of pipelines.values()) p.catch(() => {}); // the first in order is reported
    for (const d of this.plan.dispatches) {
      const pipeline = await pipelines.get(pipelineKey(d));
      const entries = d.bindings.map((b, binding) => ({ binding, resource: { buffer: this.buffers[b.buffer], offset: b.offset, size: b.size } }));
      const group = await caught(this.device, d.node, () => this.device.createBindGroup({ layout: pipeline.layout, entries }));
      this.steps.push({ pipeline: pipeline.compute, group, groups: d.groups });
    }
  }

  async #modules() {
    const made = [];
    for (const { name, source } of this.plan.modules) {
      this.device.pushErrorScope("validation"); // which says less than the messages do
      const module = this.device.createShaderModule({ label: name, code: source });
      const failed = this.device.popErrorScope();
      const { messages } = await module.getCompilationInfo();
      const first = messages.find((m) => m.type === "error");
      if (first) {
        const place = { module: name, line: first.lineNum, column: first.linePos };
        throw new PlanError("compile", `${name}:${place.line}:${place.column}: ${first.message}`, place);
      }
      const other = await failed;
      if (other) throw new PlanError("validation", `module ${name}: ${other.message}`);
      made.push(module);
    }
    return made;
  }

  // The layout says what the plan says, and so a shader that binds something else fails.
  async #pipeline(module, d) {
    const entries = d.bindings.map((b, binding) => ({
      binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: b.write ? "storage" : "read-only-storage" },
    }));
    const layout = await caught(this.device, d.node, () => this.device.createBindGroupLayout({ entries }));
    const both = await caught(this.device, d.node, () => this.device.createPipelineLayout({ bindGroupLayouts: [layout] }));
    const what = `${d.node}, entry point ${d.entry}`;
    const descriptor = { layout: both, compute: { module, entryPoint: d.entry } };
    if (!this.aside) return { layout, compute: await caught(this.device, what, () => this.device.createComputePipeline(descriptor)) };
    try {
      return { layout, compute: await this.device.createComputePipelineAsync(descriptor) };
    } catch (e) {
      throw new PlanError(e.reason === "validation" ? "validation" : "internal", `${what}: ${e.message}`);
    }
  }

  // write fills a buffer, by index, with as many bytes as it has.
  async write(i, bytes) {
    await this.#orLost(caught(this.device, `filling ${this.plan.buffers[i].name}`, () => this.device.queue.writeBuffer(this.buffers[i], 0, bytes)));
  }

  // run runs all dispatches and waits for their end.
  async run() {
    await this.#orLost(caught(this.device, `running ${this.plan.name}`, () => {
      const encoder = this.device.createCommandEncoder();
      this.plan.buffers.forEach((b, i) => b.kind === "fault" && encoder.clearBuffer(this.buffers[i]));
      const pass = encoder.beginComputePass();
      for (const { pipeline, group, groups } of this.steps) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(...groups);
      }
      pass.end();
      this.device.queue.submit([encoder.finish()]);
    }));
    await this.#orLost(this.device.queue.onSubmittedWorkDone());
  }

  // read gives the bytes of a buffer, by index.
  async read(i) {
    const { name, bytes } = this.plan.buffers[i];
    const staging = await this.#orLost(caught(this.device, `reading ${name}`, () => {
      const to = this.device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
      const encoder = this.device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.buffers[i], 0, to, 0, bytes);
      this.device.queue.submit([encoder.finish()]);
      return to;
    }));
    await this.#orLost(staging.mapAsync(GPUMapMode.READ));
    const copy = new Uint8Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return copy;
  }

  // time gives the milliseconds of up to most runs, each from its submission to its
  // end. After least of them it stops when all took more than budget milliseconds.
  async time(least, most, budget) {
    const samples = [];
    const begin = performance.now();
    while (samples.length < most && (samples.length < least || performance.now() - begin < budget)) {
      const start = performance.now();
      await this.run();
      samples.push(performance.now() - start);
    }
    return samples;
  }

  // close frees the memory of the device.
  close() {
    for (const b of this.buffers) b.destroy();
    this.device.destroy();
  }
}
