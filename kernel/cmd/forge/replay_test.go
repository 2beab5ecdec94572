package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What this build makes of the suite is what it recorded; a record that somebody
// changed shows with the pass and the lines.
func TestReplay(t *testing.T) {
	inFolder(t, nil)
	succeed(t, "replay --record old")
	succeed(t, "replay --record new")
	if out := succeed(t, "replay old new"); out != "nothing changed\n" {
		t.Errorf("equal records differ:\n%s", out)
	}
	if out := succeed(t, "replay old"); out != "nothing changed\n" {
		t.Errorf("this build differs from itself:\n%s", out)
	}
	files, err := filepath.Glob("new/mlp_8*")
	if err != nil || len(files) != 1 {
		t.Fatalf("records %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "= gelu", "= relu", 1)
	if err := os.WriteFile(files[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := command(t, "replay", "old", "new")
	if status != exitFailure || !strings.Contains(out, "mlp_8_64_128: trace changed first") || !strings.Contains(out, "relu %up") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

func TestReplayStatus(t *testing.T) {
	inFolder(t, nil)
	for line, want := range map[string]int{
		"replay":              exitUsage,
		"replay a b c":        exitUsage,
		"replay --record a b": exitUsage,
		"replay absent":       exitFailure,
		"replay absent gone":  exitFailure,
	} {
		if _, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d", line, got, want)
		}
	}
}
