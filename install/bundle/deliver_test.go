package bundle

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// tree is what stands below a folder: files with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(raw)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeliver(t *testing.T) {
	broken := errors.New("the line broke")
	for _, c := range []struct {
		name           string
		before, coming map[string]string
		fails          error
		want           map[string]string
	}{
		{"into nothing", nil, map[string]string{"a": "1", "d/e/b": "2"}, nil, map[string]string{"a": "1", "d/e/b": "2"}},
		{"over what was there", map[string]string{"a": "0", "mine": "m", "d/c": "3"}, map[string]string{"a": "1", "d/b": "2"}, nil,
			map[string]string{"a": "1", "mine": "m", "d/c": "3", "d/b": "2"}},
		{"half of it", map[string]string{"a": "0", ResultName: "r"}, map[string]string{"a": "1", "b": "2"}, broken, map[string]string{"a": "0", ResultName: "r"}},
		{"half of it, into nothing", nil, map[string]string{"a": "1"}, broken, map[string]string{}},
		{"the result of an earlier job goes", map[string]string{ResultName: "r"}, map[string]string{"a": "1"}, nil, map[string]string{"a": "1"}},
		{"a file where a folder is", map[string]string{"b/c": "0", "a": "0"}, map[string]string{"a": "1", "b": "2"}, fs.ErrExist, map[string]string{"b/c": "0", "a": "0"}},
		{"a folder where a file is", map[string]string{"z": "0", "a": "0"}, map[string]string{"a": "1", "z/b": "2"}, fs.ErrExist, map[string]string{"z": "0", "a": "0"}},
		{"after one that was killed", map[string]string{incoming + "/left": "0"}, map[string]string{"a": "1"}, nil, map[string]string{"a": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "output")
			write(t, dir, c.before)
			err := Deliver(dir, func(to string) error {
				write(t, to, c.coming)
				os.Symlink("/etc/passwd", filepath.Join(to, "link"))
				if c.fails == broken {
					return broken
				}
				return nil
			})
			if (err != nil) != (c.fails != nil) || c.fails == broken && !errors.Is(err, broken) {
				t.Errorf("it fails with %v", err)
			}
			if got := tree(t, dir); !maps.Equal(got, c.want) {
				t.Errorf("there is %v, want %v", got, c.want)
			}
			if _, err := os.Lstat(dir); c.before == nil && c.fails != nil && err == nil {
				t.Error("an empty folder was left")
			}
		})
	}
}
