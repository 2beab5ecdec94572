package pt2

import (
	"os"
	"os/exec"
	"testing"
)

// The fixtures are written anew by the PyTorch that is installed and give its results.
func TestPyTorch(t *testing.T) {
	python := os.Getenv("FORGE_PEERS_PYTHON")
	if python == "" {
		t.Skip("FORGE_PEERS_PYTHON names no Python with the peers; make peers installs one")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/fixtures.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range modules {
		for _, form := range []string{name, name + ".core"} {
			t.Run(form, func(t *testing.T) { check(t, dir, form) })
		}
	}
}
