// Draws a list of Vega-Lite charts on standard input, and writes for each its SVG and
// what Vega-Lite and Vega warned of.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const from = createRequire(pathToFileURL(process.argv[2] + "/"));
const { compile } = await import(pathToFileURL(from.resolve("vega-lite")));
const vega = await import(pathToFileURL(from.resolve("vega")));

const drawn = [];
for (const chart of JSON.parse(readFileSync(0, "utf8"))) {
  const warnings = [];
  const note = (...words) => (warnings.push(words.join(" ")), logger);
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  const view = new vega.View(vega.parse(compile(chart, { logger }).spec), { renderer: "none", logger });
  drawn.push({ svg: await view.toSVG(), warnings });
}
process.stdout.write(JSON.stringify(drawn));
