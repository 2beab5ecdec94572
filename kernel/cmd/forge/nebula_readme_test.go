package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands that the page of Nebula shows do what they say, one after another in one folder.
// Here they are quicker than they would be natively, and of no commit.
func TestReadmeNebula(t *testing.T) {
	page, err := os.ReadFile("../../../nebula/README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	prompts := `{"prompt": "Once", "max_tokens": 8}` + "\n"
	if err := os.WriteFile("prompts.jsonl", []byte(prompts), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		line, _, _ = strings.Cut(line, " #")
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "forge nebula ")
		name, _, _ := strings.Cut(args, " ")
		switch {
		case !ok:
			continue
		case strings.Contains(args, "--model tiny"):
			args += " --backend portable"
		case name == "compare":
			args += " --allow-dirty"
		default:
			continue
		}
		seen[name] = true
		if got := runForge(t, "nebula "+strings.ReplaceAll(args, `"Once upon a time"`, "Once")); got.status != 0 {
			t.Errorf("forge nebula %s: %+v", args, got)
		}
	}
	for _, name := range []string{"generate", "batch", "bench", "compare", "profile"} {
		if !seen[name] {
			t.Errorf("the page shows no forge nebula %s", name)
		}
	}
	for _, file := range []string{"out.jsonl", "one.json", "two.json", filepath.Join("traces", "trace.json")} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
