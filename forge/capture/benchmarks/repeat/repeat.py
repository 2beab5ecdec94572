"""Runs a benchmark notebook again and again, each time held to the run before.

    repeat.py measure FORGE NOTEBOOK RUNS > repeat.json
    repeat.py table repeat.json > REPEAT.md

Every pair of neighbouring runs is a `forge notebook verify`: it says of each interval that
the two state whether they overlap.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def measure(forge, notebook, runs):
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        stored, fresh = pathlib.Path(folder, "stored.ipynb"), pathlib.Path(folder, "fresh.ipynb")
        subprocess.run([forge, "notebook", "run", notebook, "-q", "-o", stored], check=True)
        first = record(stored)
        for _ in range(runs - 1):
            done = subprocess.run(
                [forge, "notebook", "verify", stored, "-o", fresh, "--json"], stdout=subprocess.PIPE, text=True
            )
            report = json.loads(done.stdout)
            rows = [row for cell in report["cells"] for row in cell.get("measured", [])]
            other = [c for c in report["cells"] if c["status"] in ("changed", "failed", "not run") and not c.get("measured")]
            pairs.append({"finished": record(fresh)["finished"], "intervals": rows, "other_changes": other})
            shutil.move(fresh, stored)
    environment = {k: first["environment"][k] for k in ("cpu", "cores", "system", "compiler", "go", "commit", "tree", "load_before")}
    json.dump({"notebook": pathlib.Path(notebook).name, "started": first["started"], "environment": environment, "pairs": pairs}, sys.stdout, indent=1)
    print()


def record(path):
    return json.loads(path.read_text())["metadata"]["forge"]["run"]


def inside(row):
    """Whether the second value is in the first interval, which is more than overlap."""
    return row["first"]["interval"]["low"] <= row["second"]["value"] <= row["first"]["interval"]["high"]


def width(row):
    i = row["first"]["interval"]
    return (i["high"] - i["low"]) / row["first"]["value"]


def table(path):
    result = json.loads(pathlib.Path(path).read_text())
    e, pairs = result["environment"], result["pairs"]
    print(f"# {len(pairs)} pairs of runs of {result['notebook']}\n")
    print(
        f"Each run compared with the one before it, from {result['started'][:19]} to {pairs[-1]['finished'][:19]} UTC, on {e['cpu']} "
        f"({e['cores']} cores, load average {e['load_before']} at the start), {e['compiler']}, commit {e['commit']}, tree {e['tree']}.\n"
    )
    print("| quantity | intervals | overlap | second value inside the first interval | median width | widest |\n|---|---:|---:|---:|---:|---:|")
    rows = [r for p in pairs for r in p["intervals"]]
    for quantity in sorted({r["quantity"] for r in rows}):
        of = [r for r in rows if r["quantity"] == quantity]
        widths = sorted(width(r) for r in of)
        print(
            f"| {quantity} | {len(of)} | {sum(r['agrees'] for r in of)} | {sum(map(inside, of))} | "
            f"{100 * widths[len(widths) // 2]:.1f} % | {100 * widths[-1]:.0f} % |"
        )
    whole = sum(all(r["agrees"] for r in p["intervals"]) for p in pairs)
    print(
        f"\nIn {whole} of {len(pairs)} pairs every interval overlaps. All other cells were the same in "
        f"{sum(not p['other_changes'] for p in pairs)}; in the others a verdict changed, which is a tie when an interval holds 1."
    )
    for i, p in enumerate(pairs):
        for r in p["intervals"]:
            if not r["agrees"]:
                c = r["candidate"]
                print(f"\n* pair {i + 1}: {r['workload']}, {c['backend']} {c['variant']}, {r['quantity']}: "
                      f"{r['first']['interval']['low']:.4g} to {r['first']['interval']['high']:.4g}, then {r['second']['interval']['low']:.4g} to {r['second']['interval']['high']:.4g}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", forge, notebook, runs]:
            measure(forge, notebook, int(runs))
        case ["table", path]:
            table(path)
        case _:
            sys.exit(__doc__)
