package mapped

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Bytes()); got != "contents" || m.Info().Size() != 8 {
		t.Errorf("got %q of %d bytes", got, m.Info().Size())
	}
	if err := m.Close(); err != nil || m.Bytes() != nil {
		t.Errorf("closed: %v, %q", err, m.Bytes())
	}
}

// A pipe without a writer must not hold up whoever opens it.
func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, os.DevNull} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
