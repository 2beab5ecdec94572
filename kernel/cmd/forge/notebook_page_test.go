package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/verify"
)

// TestReproducible goes the way of somebody who publishes a measurement: make a notebook,
// run it, verify it, make a page of it. Then somebody changes a number.
func TestReproducible(t *testing.T) {
	t.Setenv(asForge, "1") // the kernel is this binary
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	made, ran := filepath.Join(dir, "my-first.ipynb"), filepath.Join(dir, "ran.ipynb")
	if _, status := command(t, "notebook", "new", filepath.Join(dir, "my-first"), "--template", "bench"); status != 0 {
		t.Fatal("new: exit status", status)
	}
	if _, status := command(t, "notebook", "html", made, "-o", made); status != exitUsage {
		t.Error("a page in place of its notebook: exit status", status)
	}
	// This backend needs no compiler.
	_, status := command(t, "notebook", "run", made, "-q", "-o", ran, "--param", "backend=portable", "--param", "blocks=6", "--param", "samples=6", "--param", "spread=1ms")
	if status != 0 {
		t.Fatal("run: exit status", status)
	}
	text, status := command(t, "notebook", "verify", ran, "--skip-times", "--json")
	var r verify.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != 0 || !r.Verified {
		t.Fatalf("verify: exit status %d, %v\n%s", status, err, text)
	}
	skipped, identical := 0, 0
	for _, c := range r.Cells {
		switch {
		case c.Status == verify.Skipped && strings.Contains(c.Reason, "times are not to be compared"):
			skipped++
		case c.Status == verify.Identical:
			identical++
		}
	}
	if skipped != 1 || identical < 3 {
		t.Errorf("%d cells are measured and %d identical:\n%s", skipped, identical, text)
	}
	page, status := command(t, "notebook", "report", ran, "-o", "-")
	for _, want := range []string{"My first", "How to reproduce it", "--param blocks=6", "SHA-256", "C compiler", "github.com/spf13/cobra"} {
		if status != 0 || !strings.Contains(page, want) {
			t.Errorf("report: exit status %d, and no %q", status, want)
		}
	}

	if _, status := command(t, "notebook", "verify", ran, "--stored"); status != 0 {
		t.Error("stored: exit status", status)
	}
	nb, err := notebook.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	tamper(nb)
	if err := nb.WriteFile(ran); err != nil {
		t.Fatal(err)
	}
	if text, status := command(t, "notebook", "verify", ran, "--stored"); status != exitFailure || !strings.Contains(text, "is not drawn from its capture") {
		t.Errorf("forged: exit status %d\n%s", status, text)
	}
	if _, status := command(t, "notebook", "report", ran, "-o", "-"); status != exitFailure {
		t.Error("report of a forged measurement: exit status", status)
	}
}

// tamper replaces what measurements show.
func tamper(nb *notebook.Notebook) {
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			if text, ok := o.MIME("text/plain"); ok && strings.Contains(text, "Where and how") {
				o.Data["text/plain"] = "0.1 ms"
			}
		}
	}
}

// A parameter that the notebook does not take is found before a cell runs, and nothing is
// written over.
func TestBadParameter(t *testing.T) {
	t.Setenv(asForge, "1")
	dir := t.TempDir()
	in, out, ran := filepath.Join(dir, "in.ipynb"), filepath.Join(dir, "out.ipynb"), filepath.Join(dir, "ran")
	nb := &notebook.Notebook{Cells: []*notebook.Cell{
		{Type: notebook.Code, Source: `os.WriteFile("ran", nil, 0o600)`},
		{Type: notebook.Code, Source: "n := 1", Metadata: map[string]any{"tags": []any{"parameters"}}},
	}}
	if err := nb.WriteFile(in); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, param := range []string{"m=1", "n=0.5", "n=", "n=many", "n=1<<70", "n=math.Pi"} {
		for _, args := range [][]string{{"notebook", "run", in, "-o", out, "--html", out + ".html"}, {"notebook", "verify", in, "-o", out}, {"kaggle", "push", in, "--dry-run", "--accelerator", "none", "--dir", filepath.Join(dir, "sent")}} {
			if _, status := command(t, append(args, "--param", param)...); status != exitUsage {
				t.Errorf("%v --param %s: exit status %d", args[:2], param, status)
			}
		}
	}
	if kept, err := os.ReadFile(out); err != nil || string(kept) != "precious" {
		t.Errorf("the file became %q, %v", kept, err)
	}
	for _, path := range []string{ran, out + ".html", filepath.Join(dir, "sent")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}

func TestNotebookNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ipynb")
	if _, status := command(t, "notebook", "new", path, "--title", "Of my own"); status != 0 {
		t.Fatal("exit status", status)
	}
	nb, err := notebook.ReadFile(path)
	if err != nil || !strings.HasPrefix(nb.Cells[0].Source, "# Of my own\n") {
		t.Errorf("%v, %v", nb, err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, status := command(t, "notebook", "new", path); status != exitFailure {
		t.Error("exit status", status)
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "precious" {
		t.Errorf("the file became %q, %v", kept, err)
	}
}
