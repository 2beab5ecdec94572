// What an output in a notebook does, behind the text of webgpu/runner.js: it runs a plan
// on the GPU of whoever looks at it, and writes what came of it into the card that the
// output is. It needs no network and leaves nothing in the page but its card.

const COLOURS = { busy: "#2f81f7", good: "#2da44e", bad: "#e5534b" };

// bytesOf decodes base64 in parts, of which each but the last is of whole groups of 3 bytes.
function bytesOf(parts, size) {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    const text = atob(part);
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  }
  return bytes;
}

function half(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

// elements gives a function from an index to the number that stands there, a BigInt for
// integers that a number cannot hold.
function elements(elem, { buffer }) {
  switch (elem) {
    case "f32": { const v = new Float32Array(buffer); return (i) => v[i]; }
    case "f16": { const v = new Uint16Array(buffer); return (i) => half(v[i]); }
    case "i64": { const v = new BigInt64Array(buffer); return (i) => v[i]; }
    default: { const v = new Int32Array(buffer); return (i) => v[i]; }
  }
}

// difference is the largest one between n elements, also relative to the largest
// element that was to come, and how many differ in being a number at all.
function difference(elem, n, got, want) {
  const [g, w] = [elements(elem, got), elements(elem, want)];
  let [abs, scale, odd] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [a, b] = [g(i), w(i)];
    const [size, apart] = [Math.abs(Number(b)), Math.abs(Number(a - b))];
    if (Number.isFinite(size)) scale = Math.max(scale, size);
    if (Object.is(a, b) || a === b) continue;
    if (Number.isFinite(apart)) abs = Math.max(abs, apart);
    else odd++;
  }
  return { abs, rel: scale ? abs / scale : abs, odd };
}

// What a browser is told that lacks something.
const INSECURE = "Browsers give pages WebGPU only over https or from localhost, and this page came over plain http: open it by https, or forward the port and open http://localhost.";
const ABSENT = "This browser has no WebGPU, or has it switched off. Current versions of Chrome, Edge and Safari have it; Chrome on Linux may need chrome://flags/#enable-unsafe-webgpu.";
const NO_GPU = " Chrome runs WebGPU in software with chrome://flags/#enable-unsafe-webgpu.";

// The kernel ran the program to its end, so that the device erred.
const FAULT = "the GPU met an index out of range, a divisor 0 or a condition that does not hold, which the kernel did not";

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const ms = (t) => `${t < 1 || t >= 100 ? t.toFixed(t < 1 ? 2 : 0) : t.toPrecision(3)} ms`;
const short = (x) => (x === 0 ? "0" : x.toExponential(1));
const many = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// Card is the output in the page.
class Card {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.status = root.querySelector("[data-part=status]");
    this.rows = [...root.querySelectorAll("[data-part=results] tbody tr")].map((row) => [...row.cells]);
  }

  say(state, ...lines) {
    this.root.style.borderLeftColor = COLOURS[state];
    this.status.replaceChildren();
    for (const line of lines) {
      const div = document.createElement("div");
      div.textContent = line;
      this.status.append(div);
    }
  }

  offer(label) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.style.marginTop = "4px";
    button.addEventListener("click", () => this.start());
    this.status.append(button);
  }

  // why there is no WebGPU here, or undefined where there is.
  missing() {
    if (!isSecureContext) return INSECURE;
    if (!navigator.gpu) return ABSENT;
  }

  async start() {
    const missing = this.missing();
    if (missing) {
      this.say("bad", missing);
      return;
    }
    this.say("busy", "Waiting for the GPU …");
    try {
      await alone(() => this.run());
    } catch (e) {
      this.say("bad", `It did not run: ${e instanceof PlanError ? e.message : e.stack}.${e.kind === "adapter" ? NO_GPU : ""}`);
      this.offer("Try again");
    }
  }

  async run() {
    const { plan, fill, want } = this.data;
    const { device, name } = await openDevice(navigator.gpu, plan);
    this.say("busy", `Compiling ${many(plan.modules.length, "shader")} for ${name} …`);
    const begin = performance.now();
    const program = await Program.compile(device, plan);
    const compiled = performance.now() - begin;
    try {
      for (const { buffer, parts } of fill) await program.write(buffer, bytesOf(parts, plan.buffers[buffer].bytes));
      this.say("busy", `Running on ${name} …`);
      const first = await program.time(1, 1, 0);
      const equal = await this.compare(program, want);
      const samples = await program.time(3, 20, 1000);
      this.say(
        equal ? "good" : "bad",
        equal ? "The results are those of the kernel." : "The results are not those of the kernel.",
        `${name}: median of ${samples.length} runs ${ms(median(samples))}, the quickest ${ms(Math.min(...samples))}, the first ${ms(first[0])}; compiling took ${ms(compiled)}.`,
      );
      this.offer("Run again");
    } finally {
      program.close();
    }
  }

  // compare writes the differences into the table, and says whether all are tolerable.
  async compare(program, want) {
    const { buffers } = this.data.plan;
    for (const [i, b] of buffers.entries()) {
      if (b.kind === "fault" && (await program.read(i)).some(Boolean)) throw new PlanError("fault", FAULT);
    }
    let all = true;
    for (const [i, { buffer, parts, count, tolerance }] of want.entries()) {
      const { bytes, elem } = buffers[buffer];
      const { abs, rel, odd } = difference(elem, count, await program.read(buffer), bytesOf(parts, bytes));
      const equal = !odd && rel <= tolerance;
      const [, , , absolute, relative] = this.rows[i];
      absolute.textContent = odd ? many(odd, "infinity or NaN").replace("NaNs", "NaN") : short(abs);
      relative.textContent = `${short(rel)} ${equal ? "✓" : "✗"}`;
      all &&= equal;
    }
    return all;
  }
}

// alone runs f when no other card of this browser runs: they would slow one another.
async function alone(f) {
  let begun = false;
  try {
    return await navigator.locks.request("forge-webgpu", () => ((begun = true), f()));
  } catch (e) {
    if (begun) throw e;
    return f(); // a frame without an origin has no locks
  }
}

// show starts the card that a script stands in, or where a page runs its scripts
// elsewhere, the first of its name that none has taken.
function show(script, name, data) {
  const mine = (card) => !card.dataset.forgeTaken;
  const root = script?.closest("[data-forge-webgpu]") ?? [...document.querySelectorAll(`[data-forge-webgpu="${name}"]`)].find(mine);
  if (!root || !mine(root)) return;
  root.dataset.forgeTaken = "yes";
  new Card(root, data).start();
}
