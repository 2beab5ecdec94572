package manifest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func spec(change func(*Spec)) Spec {
	s := Spec{Kind: Job, Name: "decode", Image: "example.com/forge:1", Command: []string{"forge", "nebula", "rank", "--model", "/models/a \"b\".gguf"},
		Ranks: 4, CPU: "4", Memory: "16Gi", Shared: "1Gi"}
	if change != nil {
		change(&s)
	}
	return s
}

var golden = map[string]Spec{
	"job.yaml":    spec(nil),
	"jobset.yaml": spec(func(s *Spec) { s.Kind, s.Restarts, s.GPUs = JobSet, 3, 1 }),
}

func TestWrite(t *testing.T) {
	for name, s := range golden {
		var got bytes.Buffer
		if err := Write(&got, s); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s differs:\n%s", path, got.String())
		}
	}
}

func TestBadSpecs(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		`kind "pod"`:             func(s *Spec) { s.Kind = "pod" },
		`name "a: b"`:            func(s *Spec) { s.Name = "a: b" },
		"at most 40":             func(s *Spec) { s.Name = strings.Repeat("a", 41) },
		`image ""`:               func(s *Spec) { s.Image = "" },
		"no command":             func(s *Spec) { s.Command = nil },
		"0 ranks":                func(s *Spec) { s.Ranks = 0 },
		"3 restarts":             func(s *Spec) { s.Restarts = 3 },
		"-1 GPUs":                func(s *Spec) { s.GPUs = -1 },
		`memory of a rank: "1\n`: func(s *Spec) { s.Memory = "1\nGi" },
		"cores of a rank":        func(s *Spec) { s.CPU = "many" },
	} {
		// A newline is quoted in the message.
		want = strings.ReplaceAll(want, "\n", `\n`)
		if err := Write(&bytes.Buffer{}, spec(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}

// Kubernetes' own schemas accept what is written. A JobSet's are not in the
// package; the Job inside is checked as one of its own.
func TestSchemas(t *testing.T) {
	python := os.Getenv("FORGE_PYTHON")
	if python == "" {
		t.Skip("FORGE_PYTHON names no Python; make test sets it")
	}
	if err := exec.Command(python, "-c", "import kubernetes_validate").Run(); err != nil {
		t.Skip("the Python of FORGE_PYTHON has no kubernetes-validate")
	}
	for name := range golden {
		cmd := exec.Command(python, "-c", validate, filepath.Join("testdata", name))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

const validate = `
import sys, yaml, kubernetes_validate
kinds = []
for document in yaml.safe_load_all(open(sys.argv[1])):
    kinds.append(document["kind"])
    if document["kind"] == "JobSet":
        for job in document["spec"]["replicatedJobs"]:
            inner = dict(job["template"], apiVersion="batch/v1", kind="Job", metadata={"name": job["name"]})
            kubernetes_validate.validate(inner, kubernetes_validate.latest_version(), strict=True)
    else:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
assert kinds in (["Service", "Job"], ["JobSet"]), kinds
`
