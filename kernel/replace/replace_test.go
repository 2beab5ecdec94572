package replace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// put stores text; a failure that is not nil ends the writing after it.
func put(path, text string, failure error) error {
	return File(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return failure
	})
}

func want(t *testing.T, path, text string) {
	t.Helper()
	if content, err := os.ReadFile(path); err != nil || string(content) != text {
		t.Errorf("%s holds %q, %v, want %q", path, content, err, text)
	}
}

func wantFiles(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != n {
		t.Errorf("%d files, %v, want %d", len(entries), err, n)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := put(path, "one", nil); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no")
	if err := put(path, "two", failure); !errors.Is(err, failure) {
		t.Errorf("error is %v", err)
	}
	want(t, path, "one")
	wantFiles(t, dir, 1)
}

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "x")
	if got, want := put(missing, "", nil), "write "+missing+": no such file or directory"; got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if err := put(dir, "", nil); err == nil || err.Error() != dir+" is a directory" {
		t.Errorf("got %v", err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 300))
	if err := put(long, "", nil); !errors.Is(err, syscall.ENAMETOOLONG) || !strings.Contains(err.Error(), long) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir, 0)
}

func TestFileKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "x"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x", link); err != nil {
		t.Fatal(err)
	}
	if err := put(link, "new", nil); err != nil {
		t.Fatal(err)
	}
	want(t, path, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	wantFiles(t, dir, 2)
}

// What is no regular file is written to and stays what it is.
func TestSpecialFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		read <- string(content)
	}()
	if err := put(path, "text", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "text" {
		t.Errorf("read %q", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the pipe became %v, %v", info.Mode(), err)
	}
}
