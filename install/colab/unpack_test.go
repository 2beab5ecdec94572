package colab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/install/bundle"
)

// packed is an archive of entries, each with its name as its content.
func packed(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg && h.Size == 0 {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && h.Size == int64(len(h.Name)) {
			w.Write([]byte(h.Name))
		}
	}
	w.Flush()
	z.Close()
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600} }
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"files":           {packed(t, file("a"), tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, file("d/b"), file("e/f/c")), ""},
		"a path out":      {packed(t, file("../a")), `"../a" leads out of its folder`},
		"a root":          {packed(t, file("/a")), `"/a" leads out of its folder`},
		"a link":          {packed(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"}), `"l" is neither a file nor a folder`},
		"a device":        {packed(t, tar.Header{Typeflag: tar.TypeChar, Name: "null"}), "is neither"},
		"a huge file":     {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1 << 40}), "it holds more than 1024 MiB"},
		"a short file":    {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 100}), "EOF"},
		"no archive":      {[]byte("<html>"), "is not an archive"},
		"file and folder": {packed(t, file("a"), file("a/b")), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.tgz")
			if err := os.WriteFile(path, c.raw, 0o644); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "out")
			err := bundle.Deliver(out, func(to string) error { return unpack(path, to) })
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v; want %q", err, c.want)
				}
				if _, err := os.Lstat(out); err == nil {
					t.Error("some of it was left")
				}
				return
			}
			for _, name := range []string{"a", "d/b", "e/f/c"} {
				if raw, readErr := os.ReadFile(filepath.Join(dir, "out", name)); err != nil || string(raw) != name {
					t.Errorf("%s: %q, %v, %v", name, raw, readErr, err)
				}
			}
		})
	}
}

// Whatever an archive holds, nothing appears outside its folder.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, tar.Header{Typeflag: tar.TypeReg, Name: "a/b"}))
	f.Add(packed(f, tar.Header{Typeflag: tar.TypeReg, Name: "../b"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.tgz")
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
		unpack(path, filepath.Join(dir, "out"))
		filepath.WalkDir(dir, func(p string, _ fs.DirEntry, _ error) error {
			if p != dir && p != path && !strings.HasPrefix(p+"/", filepath.Join(dir, "out")+"/") {
				t.Errorf("%s appeared", p)
			}
			return nil
		})
	})
}
