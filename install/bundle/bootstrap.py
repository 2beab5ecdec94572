"""Runs a notebook of Forge on this host. "forge kaggle push" and "forge colab run"
write this script; it needs nothing but Python's standard library.

It finds its bundle, copies the binary out of it, lets it examine this machine, and
only then runs the notebook. forge-result.json, in the output folder, says how it went.
"""

import hashlib
import json
import os
import platform
import queue
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

SETTINGS = json.loads("@SETTINGS@")
MANIFEST = "forge-job.json"
RESULT = "forge-result.json"
HEARTBEAT = 20  # seconds of silence after which a line says that the job goes on
MAX_PACK = 256 << 20  # bytes of output; more do not come through one request


class Failure(Exception):
    """What a person must change, in one sentence, and the stage that it stopped."""

    def __init__(self, stage, message):
        super().__init__(message)
        self.stage = stage


def say(text):
    print("forge job: " + text, flush=True)


def digest(path):
    with open(path, "rb") as f:
        total = hashlib.sha256()
        for block in iter(lambda: f.read(1 << 20), b""):
            total.update(block)
    return total.hexdigest()


def find_bundle():
    """The folder of the bundle of this job: hosts mount it at paths of their choice."""
    others = []
    for folder, names, files in os.walk(SETTINGS["input"]):
        if folder[len(SETTINGS["input"]):].count(os.sep) >= 4:
            names.clear()
        if MANIFEST in files:
            if digest(os.path.join(folder, MANIFEST)) == SETTINGS["job"]:
                return folder
            others.append(folder)
    if others:
        raise Failure("bundle", "%s holds the bundle of another job: the host still shows an older version; push again" % others[0])
    raise Failure("bundle", "no bundle below %s: the dataset of the job was not attached" % SETTINGS["input"])


def check_files(bundle, manifest):
    for f in manifest["files"]:
        path = os.path.join(bundle, f["name"])
        if not os.path.isfile(path):
            raise Failure("bundle", "%s is missing from the bundle" % f["name"])
        if os.path.getsize(path) != f["size"]:
            raise Failure("bundle", "%s has %d bytes instead of %d" % (f["name"], os.path.getsize(path), f["size"]))
        # What is executed is hashed; weights are checked by what opens them.
        if f["name"] in ("forge", manifest["notebook"]) and digest(path) != f["sha256"]:
            raise Failure("bundle", "%s is not the file that was sent" % f["name"])


def copy_binary(bundle):
    """The input folder is read-only and its files cannot be executed."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise Failure("host", "this host is %s on %s; the binary is for Linux on x86_64" % (platform.system(), platform.machine()))
    path = os.path.join(tempfile.mkdtemp(prefix="forge-"), "forge")
    shutil.copyfile(os.path.join(bundle, "forge"), path)
    os.chmod(path, 0o755)
    return path


def run(argv, **options):
    """Runs a program, shows what it prints, and returns its status. A notebook's stdout
    is no file, so its output comes through a pipe."""
    env = dict(os.environ, PYTHONUNBUFFERED="1")
    env.pop("LD_PRELOAD", None)  # what a host preloads into its own Python is not for this binary
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=env, text=True, encoding="utf-8", errors="replace", **options)
    except OSError as e:
        raise Failure("host", "the binary does not start: %s" % e)
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    started = time.time()
    try:
        while True:
            try:
                line = lines.get(timeout=HEARTBEAT)
            except queue.Empty:
                say("running for %d s" % (time.time() - started))
                continue
            if line is None:
                return process.wait()
            print(line, end="", flush=True)
    except BaseException:
        process.kill()
        process.wait()
        raise


def examine(forge, expect):
    """Ends the job before it works on a machine that is not the one it was made for."""
    if run([forge, "version"]) != 0:
        raise Failure("host", "the binary does not run on this host")
    doctor = [forge, "nebula", "doctor"] + (["--expect", expect] if expect else [])
    if run(doctor) != 0:
        raise Failure("host", "this machine is not what the job needs: see what doctor reports as fail, above")
    if expect and int(expect.split("x")[0]) > 1 and run([forge, "nebula", "preflight"]) != 0:
        raise Failure("gpus", "the GPUs of this host do not work together: see what preflight reports, above")
    report = subprocess.run([forge, "nebula", "doctor", "--json"], stdout=subprocess.PIPE, check=False).stdout
    with open(os.path.join(SETTINGS["output"], "host.json"), "wb") as f:
        f.write(report)


def execute(forge, bundle, manifest):
    # The notebook runs in the folder that comes back, so what its cells write does, too.
    notebook = os.path.join(SETTINGS["output"], manifest["notebook"])
    shutil.copyfile(os.path.join(bundle, manifest["notebook"]), notebook)
    page = os.path.splitext(notebook)[0] + ".html"
    argv = [forge, "notebook", "run", notebook, "-o", notebook, "--timeout", "0"]
    params = dict(manifest.get("params") or {})
    if manifest.get("model"):
        params["model"] = os.path.normpath(os.path.join(bundle, manifest["model"]))
    for name in sorted(params):
        argv += ["--param", "%s=%s" % (name, params[name])]
    status = run(argv, cwd=SETTINGS["output"])
    drawn = os.path.exists(notebook) and run([forge, "notebook", "report", notebook, "-o", page], cwd=SETTINGS["output"]) == 0
    if status != 0:
        raise Failure("notebook", "the notebook failed with status %d: its own error is above, and in what comes back" % status)
    if not drawn:
        raise Failure("notebook", "the notebook ran, and its report could not be made: see above")


def pack():
    """One archive of everything that comes back, for a host that gives back single files."""
    size = sum(os.lstat(os.path.join(d, f)).st_size for d, _, files in os.walk(SETTINGS["output"]) for f in files)
    if size > MAX_PACK:
        say("the output has %d MiB, more than the %d that come back: only the result does" % (size >> 20, MAX_PACK >> 20))
    with tarfile.open(SETTINGS["pack"], "w:gz") as tar:
        for name in sorted(os.listdir(SETTINGS["output"])) if size <= MAX_PACK else [RESULT]:
            # Of links and devices nothing is to come back.
            tar.add(os.path.join(SETTINGS["output"], name), arcname=name, filter=lambda i: i if i.isfile() or i.isdir() else None)


def main():
    started = time.time()
    os.makedirs(SETTINGS["output"], exist_ok=True)
    stage, error = "done", ""
    try:
        bundle = find_bundle()
        with open(os.path.join(bundle, MANIFEST), encoding="utf-8") as f:
            manifest = json.load(f)
        say("%s from %s" % (manifest["notebook"], bundle))
        check_files(bundle, manifest)
        forge = copy_binary(bundle)
        examine(forge, manifest.get("expect", ""))
        execute(forge, bundle, manifest)
    except Failure as e:
        stage, error = e.stage, str(e)
    except Exception as e:  # such as a full disk: it must reach the result, too
        stage, error = "host", "%s: %s" % (type(e).__name__, e)
    result = {"schema": 1, "job": SETTINGS["job"], "stage": stage, "error": error, "seconds": round(time.time() - started, 1)}
    with open(os.path.join(SETTINGS["output"], RESULT), "w", encoding="utf-8") as f:
        json.dump(result, f, indent=2)
    if SETTINGS["pack"]:
        pack()
    say("failed: " + error if error else "done in %.0f s" % result["seconds"])
    # A notebook that failed has output that tells why, and hosts keep the output of
    # scripts that end well; who fetches it reads the result.
    if SETTINGS["exit"] and stage not in ("done", "notebook"):
        sys.exit(1)


main()
