"""Products of matrices on WebGPU beside ONNX Runtime Web, in one run.

usage: webgpu.py measure FORGE --modules DIR --commit C [--gpu] [--samples N] > webgpu.json
       webgpu.py table CAPTURE... > WEBGPU.md

Both run on SwiftShader, WebGPU in software: 1024 x 1024 x 1024 by Dawn in a process of
Node, and 512 x 512 x 512 in a page of headless Chromium. With --gpu both run on the GPU
of the host, by Dawn, with larger matrices. A sample is a call from matrices in memory to
their product there. Both libraries are called in turn.
"""

import argparse
import functools
import http.server
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
RUNNER = HERE.parents[2] / "backend" / "wgsl" / "webgpu" / "runner.js"
VULKAN = pathlib.Path("/usr/lib/chromium")  # with SwiftShader, and a loader for it
DIST = "node_modules/onnxruntime-web/dist"
PROGRAM = "def product(a, b):\n    return a @ b\n"
DAWN, CHROMIUM = 1024, 512
GPU = 1024, 2048
LONG = 3600  # seconds that either may take
TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm"}
FLAGS = [
    "--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]


def script(last):
    return "".join(p.read_text() for p in (RUNNER, HERE / "measure.js", HERE / last))


def plan_of(forge, n, work):
    """The file of a plan for a product of matrices of n rows and columns."""
    source, out = work / "product.fs", work / f"plan-{n}.json"
    source.write_text(PROGRAM)
    done = subprocess.run([forge, "wgsl", source, "--shapes", f"{n}x{n},{n}x{n}", "--json"], check=True, stdout=subprocess.PIPE)
    out.write_bytes(done.stdout)
    return out


def on_dawn(plan, n, samples, modules, gpu=False):
    software = {"LD_LIBRARY_PATH": str(VULKAN), "VK_ICD_FILENAMES": str(VULKAN / "vk_swiftshader_icd.json")}
    env = dict(os.environ, **({} if gpu else software))
    command = ["node", "--input-type=module", "--eval", script("dawn.js"), modules / DIST, plan, str(n), str(samples)]
    done = subprocess.run(command, cwd=modules, env=env, stdout=subprocess.PIPE, check=True, timeout=LONG)
    return json.loads(done.stdout)


def served(plan, modules):
    """A server on the loopback for the page, isolated as threads of WebAssembly ask for."""
    page = f'<!DOCTYPE html><script type="module">{script("page.js")}</script>'.encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.split("?")[0]
            name = pathlib.PurePosixPath(path).name
            kind = TYPES.get(pathlib.PurePosixPath(path).suffix)
            if path == "/":
                kind, body = "text/html", page
            elif path == "/plan.json":
                kind, body = "application/json", plan.read_bytes()
            elif kind and (modules / DIST / name).is_file():
                body = (modules / DIST / name).read_bytes()
            else:
                return self.send_error(404)
            self.send_response(200)
            for key, value in (
                ("Content-Type", kind), ("Content-Length", len(body)),
                ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp"),
            ):
                self.send_header(key, str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def in_chromium(plan, n, samples, modules):
    from playwright.sync_api import sync_playwright

    server = served(plan, modules)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/?n={n}&samples={samples}")
        page.wait_for_function("document.title !== ''", timeout=LONG * 1000, polling=1000)
        result = json.loads(page.title())
        result["browser"] = f"Chromium {browser.version}"
        browser.close()
    server.shutdown()
    if "failed" in result:
        raise SystemExit(result["failed"])
    return result


def environment(modules, commit):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    version = lambda name: json.loads((modules / "node_modules" / name / "package.json").read_text())["version"]
    return {
        "cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "load_before": os.getloadavg()[0],
        "node": subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip(),
        "webgpu": version("webgpu"), "onnxruntime-web": version("onnxruntime-web"), "commit": commit,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def measure(args):
    modules = pathlib.Path(args.modules).resolve()
    capture = {"environment": environment(modules, args.commit), "rows": []}
    with tempfile.TemporaryDirectory() as work:
        parts = [("Chromium", in_chromium, CHROMIUM), ("Dawn for Node", on_dawn, DAWN)]
        if args.gpu:
            parts = [("Dawn for Node", functools.partial(on_dawn, gpu=True), n) for n in GPU]
        for where, run, n in parts:
            row = run(plan_of(args.forge, n, pathlib.Path(work)), n, args.samples, modules)
            capture["rows"].append({"where": row.pop("browser", where), **row})
            print(line(capture["rows"][-1]), file=sys.stderr)
    json.dump(capture, sys.stdout, indent=1)
    print()


def line(row):
    ours, theirs = row["samples"]["forge"], row["samples"]["onnxruntime"]
    pairs = sorted(b / a for a, b in zip(ours, theirs))
    work = 2 * row["n"] ** 3 / 1e6  # MFLOP, and so GFLOP/s with ms
    d = 1 if min(ours) < 100 else 0  # decimals
    return (
        f"| {row['where']} | {row['n']}³ | {len(ours)} | {statistics.median(ours):.{d}f} ms, least {min(ours):.{d}f} | {statistics.median(theirs):.{d}f} ms, least {min(theirs):.{d}f} "
        f"| {work / min(ours):.{2 - 2 * d}f} | {work / min(theirs):.{2 - 2 * d}f} | {statistics.median(pairs):.2f} ({pairs[0]:.2f} – {pairs[-1]:.2f}) "
        f"| {row['first']['forge'] / 1e3:.1f} s | {row['first']['onnxruntime'] / 1e3:.1f} s | {row['error']['forge']:.0e} | {row['error']['onnxruntime']:.0e} |"
    )


def table(paths):
    print(
        "# Products of matrices on WebGPU\n\n"
        "In software: written by `make webgpu-bench`, the samples are in `webgpu.json`. On a GPU: by hand, with `--gpu`, on a host that has one.\n"
        "`ort` is the WebGPU provider of ONNX Runtime Web. Both multiply the same matrices of f32, in turn, in one process. A call takes two\n"
        "matrices from memory to the device and their product back. The ratio is how many times as long ONNX Runtime takes: the median of\n"
        "pairs of neighbouring calls, and the range of all. The first call compiles shaders. Errors are differences from float64, relative to the sum\n"
        "of the sizes of the terms. GFLOP/s are those of the quickest call, which a busy machine disturbs least."
    )
    for path in paths:
        capture = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        section(capture["environment"], capture["rows"])


def section(e, rows):
    print(
        f"\n## On {rows[0]['adapter']}\n\n"
        "| by | size | calls | forge | ort | GFLOP/s, forge | ort | ratio | first call, forge | ort | error, forge | ort |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    for row in rows:
        print(line(row))
    print(
        f"\nTaken by commit {e['commit']} on {e['cpu']}, {e['cores']} cores, load average {e['load_before']:.1f}, with Node {e['node']},\n"
        f"webgpu {e['webgpu']} and onnxruntime-web {e['onnxruntime-web']}, {e['started']}."
    )


def main():
    parser = argparse.ArgumentParser(description="Products of matrices on WebGPU beside ONNX Runtime Web.")
    parser.add_argument("do", choices=["measure", "table"])
    parser.add_argument("paths", nargs="+", metavar="path", help="the forge binary, or the captures to draw")
    parser.add_argument("--modules", help="the folder in whose node_modules the packages are")
    parser.add_argument("--commit", help="what measures")
    parser.add_argument("--gpu", action="store_true", help="on the GPU of the host")
    parser.add_argument("--samples", type=int, default=20, help="calls of each; fewer when they take more than ten minutes")
    args = parser.parse_args()
    if args.do == "table":
        table(args.paths)
    else:
        args.forge = args.paths[0]
        measure(args)


if __name__ == "__main__":
    main()
