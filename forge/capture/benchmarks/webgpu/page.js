// Measures in a page, behind the texts of runner.js and measure.js. The page has the
// plan, the size and the number of samples in its address.

const query = new URLSearchParams(location.search);
const report = (result) => (document.title = JSON.stringify(result));
try {
  const ort = await import("/ort.webgpu.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = location.origin + "/";
  const plan = await (await fetch("/plan.json")).json();
  report(await beside(navigator.gpu, ort, plan, +query.get("n"), +query.get("samples")));
} catch (e) {
  report({ failed: e.stack });
}
