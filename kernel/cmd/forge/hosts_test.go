package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"forgekernel/install/standin"
)

// sentNotebook is a job: it reads its model and writes a capture.
const sentNotebook = `{"cells": [
 {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "execution_count": null, "outputs": [], "source": "name, model, tp := \"nobody\", \"\", 1"},
 {"cell_type": "code", "id": "b", "metadata": {}, "execution_count": null, "outputs": [], "source": "raw, err := os.ReadFile(model)\nif err != nil && model != \"\" {\n\tpanic(err)\n}\nfmt.Println(name, \"read\", len(raw), \"bytes, tp\", tp)\nos.WriteFile(\"capture.json\", []byte(name), 0o644)\nos.Symlink(\"/nowhere\", \"link\")"},
 {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": null, "outputs": [], "source": "if name == \"bad\" {\n\tpanic(\"a cell that fails\")\n}\nforge.Ones(2).Values()"}
], "metadata": {"kernelspec": {"name": "forge", "language": "go"}}, "nbformat": 4, "nbformat_minor": 5}`

// sending makes a folder with a notebook and a model, the current one of the test, and
// the services with a plan.
func sending(t *testing.T, plan standin.Plan) standin.Service {
	t.Helper()
	if err := standin.Possible(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"Work 1.ipynb": sentNotebook, "job.ipynb": sentNotebook, "weights.gguf": "12345"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return standin.Install(t, plan)
}

// outcomeOf runs a command of this build to its end.
func outcomeOf(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := startForge(t, args...)
	out, err := io.ReadAll(p.stdout)
	if err != nil {
		t.Fatal(err)
	}
	status = p.status()
	return string(out), p.stderr.String(), status
}

const pushed = "kaggle push job.ipynb --poll 20ms"

func TestKagglePush(t *testing.T) {
	service := sending(t, standin.Plan{Break: 2, Deaf: 3, Late: 2})
	out, errs, status := outcomeOf(t, append(strings.Fields(pushed), "--model", "weights.gguf", "--param", `name=Ada, of "Analytical" fame, 1+1=2`)...)
	if status != 0 {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
	inOrder(t, out, "Uploading ada/forge-job-files", "The job is ada/forge-job on Kaggle", "the machine has started", "/kaggle/input/forge-job-files\n",
		"host               Kaggle", `Ada, of "Analytical" fame, 1+1=2 read 5 bytes, tp 1`, "forge job: done", "are in job-kaggle/output")
	if n := strings.Count(out, "the machine has started"); n != 1 {
		t.Errorf("a line of the log is shown %d times", n)
	}
	for name, want := range map[string]string{
		"job.ipynb": "read 5 bytes", "job.html": "Analytical", "capture.json": "Ada", "host.json": `"Kaggle"`, "forge-result.json": `"done"`,
	} {
		if raw, err := os.ReadFile(filepath.Join("job-kaggle", "output", name)); err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %v; want %q in it", name, err, want)
		}
	}
	calls := service.Calls()
	if logs := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return !strings.Contains(c, "kernels logs") }); len(logs) < 2 {
		t.Errorf("the log broke off, and nobody asked again: %v", calls)
	}

	// The second time there is a dataset, which gets another version.
	// At first Kaggle tells of the job before.
	if _, errs, status := outcomeOf(t, append(strings.Fields(pushed), "--model", "weights.gguf")...); status != 0 {
		t.Fatalf("again: status %d: %s", status, errs)
	}
	if raw, err := os.ReadFile("job-kaggle/output/capture.json"); err != nil || string(raw) != "nobody" {
		t.Errorf("again: %q, %v", raw, err)
	}
	if calls := strings.Join(service.Calls(), "\n"); strings.Count(calls, "datasets create") != 1 || strings.Count(calls, "datasets version") != 1 {
		t.Error(calls)
	}
}

// The notebook that is meant for Kaggle runs there; this machine of Kaggle's has no GPUs, so
// that its two ranks are processes of the processor.
func TestKaggleNotebook(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	sending(t, standin.Plan{})
	out, errs, status := outcomeOf(t, "kaggle", "push", filepath.Join(root, "notebooks", "12-two-gpus.ipynb"), "--poll", "20ms")
	if status != 0 {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
	inOrder(t, out, "skipped: Two GPUs are not used", "ranks: 2 and 1", "equal: true", "forge job: done")
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("no %q, or not in its place:\n%s", part, text)
		}
		rest = after
	}
}

// A dry run needs neither the tool nor an account.
func TestKaggleDryRunAlone(t *testing.T) {
	sending(t, standin.Plan{})
	t.Setenv("PATH", t.TempDir())
	out, errs, status := outcomeOf(t, strings.Fields("kaggle push --dir sent --dry-run job.ipynb")...)
	if status != 0 || !strings.Contains(errs, placeholderUser+" stands for the account") || !strings.Contains(out, placeholderUser+"/") {
		t.Errorf("status %d: %s\n%s", status, errs, out)
	}
}

// What --dry-run prints is what is run.
func TestKaggleDryRun(t *testing.T) {
	service := sending(t, standin.Plan{GPUs: []string{"Tesla T4", "Tesla T4"}})
	args := append(strings.Fields("kaggle push --user ada --accelerator NvidiaTeslaT4 --tp 2 --timeout 90s --dir sent --poll 20ms"), "Work 1.ipynb")
	if _, errs, status := outcomeOf(t, append(args, "--dry-run")...); status != exitFailure || !strings.Contains(errs, "hosts change such names") {
		t.Fatalf("status %d: %s", status, errs)
	}
	args[len(args)-1] = "job.ipynb"
	dry, errs, status := outcomeOf(t, append(args, "--dry-run")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	if calls := service.Calls(); len(calls) != 1 || calls[0] != "" {
		t.Errorf("a dry run runs %q", calls)
	}
	const want = `# the first says whether there is the dataset; one of the next two makes it what it should be
kaggle datasets status ada/forge-job-files
# when there is none
kaggle datasets create -p sent/dataset -q
# else
kaggle datasets version -p sent/dataset -q -m 'job ID'
# until it is ready
kaggle datasets status ada/forge-job-files
# the job
kaggle kernels push -p sent/kernel --accelerator NvidiaTeslaT4 -t 90
# until it has ended, again after a break
kaggle kernels status ada/forge-job
kaggle kernels logs ada/forge-job --follow
# what it wrote
kaggle kernels output ada/forge-job -p sent/output/.incoming -o -q
`
	manifest, err := os.ReadFile("sent/dataset/forge-job.json")
	if err != nil {
		t.Fatal(err)
	}
	id := digestOf(manifest)[:12]
	if got := strings.Replace(dry, "job "+id, "job ID", 1); got != want {
		t.Errorf("a dry run prints\n%s\nwant\n%s", got, want)
	}
	for path, part := range map[string]string{
		"sent/kernel/kernel-metadata.json": `"machine_shape": "NvidiaTeslaT4"`, "sent/dataset/forge-job.json": `"expect": "2xT4"`,
		"sent/dataset/job.ipynb": "nobody", "sent/kernel/bootstrap.py": digestOf(manifest),
	} {
		if raw, err := os.ReadFile(path); err != nil || !strings.Contains(string(raw), part) {
			t.Errorf("%s: %v; want %q in it", path, err, part)
		}
	}
	// The GPUs of this host have no driver behind them, which is found out before work.
	out, errs, status := outcomeOf(t, args...)
	if status != exitFailure || !strings.Contains(errs, "the GPUs of this host do not work together") {
		t.Errorf("status %d: %s\n%s", status, errs, out)
	}
	inOrder(t, out, "expected 2xT4; found 2: Tesla T4, Tesla T4", "libcuda")
	shown := strings.Split(dry, "\n")
	for _, call := range service.Calls() {
		if !strings.HasSuffix(call, "--version") && !slices.Contains(shown, strings.Replace(call, "-m job "+id, "-m 'job "+id+"'", 1)) {
			t.Errorf("%q was run and not shown", call)
		}
	}
}

// What can go wrong at Kaggle, and what a person is told.
func TestKaggleFails(t *testing.T) {
	t4 := " --accelerator NvidiaTeslaT4"
	for _, c := range []struct {
		name, args string
		plan       standin.Plan
		want       string // on stderr
		shown      string // on stdout
	}{
		{"an old tool", "", standin.Plan{Version: "1.7.4"}, "kaggle is 1.7.4; 2.2.0 or later is needed", ""},
		{"a push is refused", "", standin.Plan{Push: "Notebook not found"}, "kernel ada/forge-job: it is refused by Kaggle: Notebook not found", ""},
		{"the quota is used up", t4, standin.Plan{Push: "Maximum weekly GPU quota of 30.00 hours reached."}, "kaggle quota tells what is left", ""},
		{"the dataset is not attached", "", standin.Plan{Detach: true}, "is not attached by Kaggle", ""},
		{"the service ends the job", "", standin.Plan{Kernel: "Your notebook tried to allocate more memory than is available."}, "ended as ERROR: Your notebook tried to allocate", ""},
		{"the service does not answer", "", standin.Plan{Deaf: 99}, "the job ada/forge-job cannot be followed, and may go on: kaggle kernels status ada/forge-job ended with status 1: 502", ""},
		{"an unknown status", "", standin.Plan{Status: "FROZEN"}, `the job ada/forge-job cannot be followed, and may go on: kaggle tells a status that is not known here: "FROZEN"; try forge kaggle fetch`, ""},
		{"an unknown status of the dataset", "", standin.Plan{Dataset: "in limbo"}, `dataset ada/forge-job-files: kaggle tells a status that is not known here: "in limbo"`, ""},
		{"some of it comes back", "", standin.Plan{Part: true}, "Connection aborted", ""},
		{"one GPU instead of two", t4, standin.Plan{GPUs: []string{"Tesla T4"}}, "this machine is not what the job needs", "fail  machine            expected 2xT4; found 1: Tesla T4"},
		{"other GPUs", t4, standin.Plan{GPUs: []string{"Tesla P100", "Tesla P100"}}, "this machine is not what the job needs", "expected 2xT4; found 2: Tesla P100, Tesla P100"},
		{"no GPU", t4, standin.Plan{}, "this machine is not what the job needs", "expected 2xT4; found: no NVIDIA GPU"},
		{"a cell fails", " --param name=bad", standin.Plan{}, "the job failed: the notebook failed with status 1", "a cell that fails"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sending(t, c.plan)
			out, errs, status := outcomeOf(t, strings.Fields(pushed+c.args)...)
			if status != exitFailure || !strings.Contains(errs, c.want) || !strings.Contains(out, c.shown) {
				t.Errorf("status %d: %s\n%s", status, errs, out)
			}
			if _, err := os.Lstat("job-kaggle/output"); c.plan.Part && err == nil {
				t.Error("half of what the job wrote was left")
			}
		})
	}
}

// A notebook that was sent before is never run in place of the new one.
func TestKaggleStale(t *testing.T) {
	sending(t, standin.Plan{Stale: true})
	if _, errs, status := outcomeOf(t, strings.Fields(pushed)...); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	_, errs, status := outcomeOf(t, strings.Fields(pushed+" --param name=Ada")...)
	if status != exitFailure || !strings.Contains(errs, "holds the bundle of another job: the host still shows an older version") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// An interrupt leaves the job where it is, and tells how to go on.
func TestKaggleInterrupt(t *testing.T) {
	service := sending(t, standin.Plan{Hold: true})
	p := startForge(t, strings.Fields(pushed)...)
	p.await(t, "the machine has started")
	p.Process.Signal(syscall.SIGINT)
	if status := p.status(); status != exitFailure || !strings.Contains(p.stderr.String(), "the job goes on: forge kaggle fetch ada/forge-job gets it") {
		t.Fatalf("status %d: %s", status, p.stderr.String())
	}
	if err := service.Go(); err != nil {
		t.Fatal(err)
	}
	out, errs, status := outcomeOf(t, strings.Fields("kaggle fetch ada/forge-job -o fetched --poll 20ms")...)
	if status != 0 {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
	inOrder(t, out, "the machine has started", "forge job: done", "are in fetched")
	if raw, err := os.ReadFile("fetched/capture.json"); err != nil || string(raw) != "nobody" {
		t.Errorf("%q, %v", raw, err)
	}
}

const onColab = "colab run job.ipynb --session s1"

func TestColabRun(t *testing.T) {
	service := sending(t, standin.Plan{})
	dry, errs, status := outcomeOf(t, strings.Fields(onColab+" --dry-run --model weights.gguf")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	out, errs, status := outcomeOf(t, strings.Fields(onColab+" --model weights.gguf --param name=Ada")...)
	if status != 0 {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
	inOrder(t, out, "Should this command be killed: colab stop -s s1", "Uploading forge-job.json", "Google Colab", "Ada read 5 bytes", "forge job: done", "are in job-colab/output")
	if raw, err := os.ReadFile("job-colab/output/capture.json"); err != nil || string(raw) != "Ada" {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := os.Lstat("job-colab/output/link"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link came back: %v", err)
	}
	if !service.Stopped("s1") {
		t.Error("the session was not stopped")
	}
	calls := service.Calls()
	want := strings.Split(strings.TrimSpace(dry), "\n")
	if got := calls[1:]; !slices.Equal(got, want[:len(want)-1]) { // the last is a remark
		t.Errorf("run:\n%s\nshown:\n%s", strings.Join(got, "\n"), dry)
	}
}

// Whatever fails, the session is stopped.
func TestColabFails(t *testing.T) {
	for _, c := range []struct {
		name, args  string
		plan        standin.Plan
		want, shown string
	}{
		{"an old tool", "", standin.Plan{Version: "0.5.11"}, "colab is 0.5.11; 0.6.0 or later is needed", ""},
		{"no session", " --gpu T4", standin.Plan{New: "[colab] Allocation refused (precondition failed)."}, "Allocation refused", ""},
		{"an upload fails", "", standin.Plan{Upload: "forge"}, "colab upload -s s1 job-colab/bundle/forge content/forge-job/forge ended with status 1: [colab] Upload failed: 500", ""},
		{"another GPU", " --gpu T4", standin.Plan{GPUs: []string{"NVIDIA L4"}}, "this machine is not what the job needs", "expected 1xT4; found 1: NVIDIA L4"},
		{"a cell fails", " --param name=bad", standin.Plan{}, "the job failed: the notebook failed with status 1", "a cell that fails"},
		{"a stop fails", "", standin.Plan{Stop: "503 Server Error"}, "the session s1 may still run, and cost: colab stop -s s1 ended with status 1: 503", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := sending(t, c.plan)
			out, errs, status := outcomeOf(t, strings.Fields(onColab+c.args)...)
			if status != exitFailure || !strings.Contains(errs, c.want) || !strings.Contains(out, c.shown) {
				t.Errorf("status %d: %s\n%s", status, errs, out)
			}
			asked := c.plan.Version == ""
			if calls := service.Calls(); asked != (calls[len(calls)-1] == "colab stop -s s1") {
				t.Errorf("%v", calls)
			}
		})
	}
}

func TestColabInterrupt(t *testing.T) {
	service := sending(t, standin.Plan{Hang: true})
	p := startForge(t, strings.Fields(onColab)...)
	p.await(t, "forge job: running")
	p.Process.Signal(syscall.SIGINT)
	if status := p.status(); status != exitFailure || !strings.Contains(p.stderr.String(), "stopped: interrupt") {
		t.Errorf("status %d: %s", status, p.stderr.String())
	}
	if !service.Stopped("s1") {
		t.Errorf("the session was not stopped: %v", service.Calls())
	}
}

// Requests that could not work are refused before anything is sent.
func TestSentRefused(t *testing.T) {
	service := sending(t, standin.Plan{})
	bad := strings.Replace(sentNotebook, `"parameters"`, `"other"`, 1)
	other := strings.Replace(sentNotebook, `"name": "forge", "language": "go"`, `"name": "python3", "language": "python"`, 1)
	for name, text := range map[string]string{"untagged.ipynb": bad, "python.ipynb": other, "script.sh": "#!/bin/sh\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"kaggle push job.ipynb --accelerator NvidiaTeslaP100", exitUsage, "NvidiaTeslaP100 is retired"},
		{"kaggle push job.ipynb --accelerator NvidiaL4", exitUsage, "say it with --expect"},
		{"kaggle push job.ipynb --tp 4 --accelerator NvidiaTeslaT4", exitUsage, "--tp 4 needs as many GPUs, and the machine 2xT4 has 2"},
		{"kaggle push job.ipynb --param nobody=1", exitUsage, "has no variable nobody; it has model, name, tp"},
		{"kaggle push untagged.ipynb --param name=1", exitUsage, "no cell of the notebook is tagged parameters"},
		{"kaggle push python.ipynb", exitFailure, "is a notebook of the kernel \"python3\""},
		{"kaggle push absent.ipynb", exitFailure, "no such file"},
		{"kaggle push job.ipynb --expect T4", exitFailure, `"T4" is not a machine`},
		{"kaggle push job.ipynb --binary script.sh", exitFailure, "is not a program for Linux"},
		{"kaggle push job.ipynb --model absent.gguf", exitFailure, "absent.gguf"},
		{"kaggle push job.ipynb --name No", exitFailure, `"No" is not the name of a kernel`},
		{"kaggle push job.ipynb --poll 0s", exitUsage, "--poll must be positive"},
		{"kaggle push job.ipynb --timeout 1ms", exitFailure, "a job needs a second at least"},
		{"kaggle fetch job", exitFailure, `"job" is not a job: write USER/NAME`},
		{"kaggle pull job", exitUsage, "there are push and fetch"},
		{"colab run job.ipynb --gpu V100", exitUsage, "there are T4, L4, G4, A100 and H100"},
		{"colab run job.ipynb --session a/b", exitFailure, "is not the name of a session"},
		{"colab start", exitUsage, "there is run"},
	} {
		if _, errs, status := outcomeOf(t, strings.Fields(c.args)...); status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("forge %s: status %d: %s", c.args, status, errs)
		}
	}
	for _, call := range service.Calls() {
		if call != "" && call != "kaggle --version" && call != "kaggle config view" {
			t.Errorf("%s was run", call)
		}
	}
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// The commands that the pages on Kaggle and Colab show can be run as they stand.
func TestHostPages(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "notebooks"), "notebooks"); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range []string{"kaggle", "colab"} {
		text, err := os.ReadFile(filepath.Join(root, "install", page, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, " #")
			args := strings.Fields(line)
			if len(args) < 4 || args[0] != "forge" || args[2] == "fetch" || slices.Contains(args, "--dry-run") {
				continue
			}
			shown++
			if page == "kaggle" {
				args = append(args, "--user", "ada")
			}
			if out, errs, status := outcomeOf(t, append(args[1:], "--dry-run")...); status != 0 || !strings.Contains(out, "forge-") {
				t.Errorf("%s: status %d: %s\n%s", line, status, errs, out)
			}
		}
	}
	if shown != 2 {
		t.Errorf("the pages show %d commands that run", shown)
	}
}
