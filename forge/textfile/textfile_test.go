package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		content, want string
		err           error
	}{
		{"def f", "def f", nil},
		{"", "", nil},
		{"\xef\xbb\xbfdef f", "def f", nil},
		{"\xef\xbb\xbf", "", nil},
		{"\xef\xbbx", "\xef\xbbx", nil},
		{"a\xef\xbb\xbf", "a\xef\xbb\xbf", nil}, // not in front: a character like others
		{"\xff\xfed\x00e\x00", "", ErrUTF16},
		{"\xfe\xff\x00d\x00e", "", ErrUTF16},
		{"d\x00e\x00", "", ErrUTF16},
		{"\x00d\x00e", "", ErrUTF16},
		{"\x00\x00", "\x00\x00", nil}, // no text, which the reader of it will say
	} {
		got, err := Decode([]byte(c.content))
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q is %q, %v; want %q, %v", c.content, got, err, c.want, c.err)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := Read(file("a", "\xef\xbb\xbfé"), 5); err != nil || string(got) != "é" {
		t.Errorf("%q, %v", got, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file("large", "123456"):       "the file is too large: it has 6 bytes, and at most 5 are read",
		file("wide", "\xff\xfea\x00"): "save it as UTF-8",
		dir:                           "it is a folder, not a file",
		pipe:                          "it is a pipe that nobody writes to",
		filepath.Join(dir, "none"):    "no such file or directory",
		"/dev/zero":                   "the file is too large: it has more than the 5 bytes that are read",
	} {
		_, err := Read(path, 5)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbf\xef\xbb\xbf"))
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := Decode(content)
		if err == nil && len(content)-len(got) != 0 && len(content)-len(got) != len(mark) {
			t.Errorf("%q became %q", content, got)
		}
	})
}
