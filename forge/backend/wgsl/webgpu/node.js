// The process of Node that a webgpu.Device talks to, behind the text of runner.js. A
// message is the length of a text and that of bytes, 32 bits each, low byte first; then
// the text, which is JSON; then the bytes.

// What a library prints must not come between messages.
console.log = console.info = console.debug = console.error;

const MOST = 2 ** 30; // bytes of a message, as Go's maxMessage

// reader gives the next n bytes of standard input, or null at its end.
function reader(stream) {
  const chunks = stream[Symbol.asyncIterator]();
  let rest = Buffer.alloc(0);
  return async (n) => {
    const parts = [rest];
    let have = rest.length;
    while (have < n) {
      const { value, done } = await chunks.next();
      if (done) return null;
      parts.push(value);
      have += value.length;
    }
    const all = parts.length === 1 ? rest : Buffer.concat(parts, have);
    rest = all.subarray(n);
    return all.subarray(0, n);
  };
}

function send(message, payloads = []) {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text.length, 0);
  head.writeUInt32LE(payloads.reduce((sum, b) => sum + b.length, 0), 4);
  for (const part of [head, text, ...payloads]) process.stdout.write(part);
}

// serve runs plans until there are no more. Each has a device of its own, which is
// quicker to open than a message is to send, and nothing that one leaves reaches the next.
async function serve(gpu) {
  const next = reader(process.stdin);
  for (;;) {
    const head = await next(8);
    if (!head) return;
    const [text, bytes] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (text > MOST || bytes > MOST) throw new Error(`a message of ${text} and ${bytes} bytes`);
    const plan = JSON.parse(await next(text));
    await run(gpu, plan, await next(bytes));
  }
}

async function run(gpu, plan, payload) {
  let program;
  try {
    const { device } = await openDevice(gpu, plan);
    program = await Program.compile(device, plan, false);
    let at = 0;
    for (const [i, { kind, bytes }] of plan.buffers.entries()) {
      if (kind !== "input" && kind !== "updated" && kind !== "constant") continue;
      await program.write(i, payload.subarray(at, (at += bytes)));
    }
    await program.run();
    const results = [];
    for (const [i, { kind }] of plan.buffers.entries()) {
      if (kind === "output" || kind === "updated" || kind === "fault") results.push(await program.read(i));
    }
    send({}, results);
  } catch (e) {
    send({ error: { kind: e.kind ?? "internal", message: e.kind ? e.message : `${e.stack}`, ...e.place } });
  } finally {
    program?.close();
  }
}

async function main() {
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  const gpu = create([]);
  const adapter = await findAdapter(gpu);
  send({ adapter: adapterName(adapter), features: [...adapter.features] });
  await serve(gpu);
}

main().then(
  () => process.exit(0),
  (e) => {
    send({ error: { kind: e.kind ?? "process", message: e.message } });
    process.exit(1);
  },
);
