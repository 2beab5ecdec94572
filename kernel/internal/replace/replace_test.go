package replace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	write := func(text string, err error) error {
		return File(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return err
		})
	}
	if err := write("one", nil); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no")
	if err := write("two", failure); !errors.Is(err, failure) {
		t.Errorf("error is %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "one" {
		t.Errorf("after a failure the file holds %q, %v", content, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	if err := File(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("a missing folder is no error")
	}
}
