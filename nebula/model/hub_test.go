package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/nebula/token"
)

// TestHubCache opens a model and its tokenizer where a download by the Hugging Face
// hub leaves them: every file is a link to a blob. A link to elsewhere is refused.
func TestHubCache(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "models--o--n")
	blobs, snapshot := filepath.Join(repo, "blobs"), filepath.Join(repo, "snapshots", "0123abcd")
	if err := os.CopyFS(blobs, os.DirFS(filepath.Join(fixtures, "smollm"))); err != nil {
		t.Fatal(err)
	}
	tokenizer := `{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`
	if err := os.WriteFile(filepath.Join(blobs, "tokenizer.json"), []byte(tokenizer), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(blobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(snapshot, 0o755); err != nil {
		t.Fatal(err)
	}
	link := func(name, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(snapshot, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		link(e.Name(), "../../blobs/"+e.Name())
	}
	m, err := Open(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := token.Open(snapshot); err != nil {
		t.Error(err)
	}
	outside := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "tokenizer.json"} {
		if err := os.Remove(filepath.Join(snapshot, name)); err != nil {
			t.Fatal(err)
		}
		link(name, outside)
	}
	want := "is a link that does not lead to a file of the model's folder"
	if _, err := Open(snapshot); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the model: %v, want %s", err, want)
	}
	if _, err := token.Open(snapshot); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the tokenizer: %v, want %s", err, want)
	}
}
