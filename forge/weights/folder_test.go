package weights

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forgekernel/forge/tensor"
)

// tree makes a folder: a text is a file, one that begins with "-> " a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func one(name string, v float32) string {
	return string(safetensors(`{"`+name+`":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, floats(v)))
}

const twoShards = `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`

// hub is a cache of the Hugging Face hub with two snapshots and a stranger.
func hub(t *testing.T) string {
	return tree(t, map[string]string{
		"hub/models--o--n/blobs/aa":                                         one("a", 1),
		"hub/models--o--n/blobs/bb":                                         one("b", 2),
		"hub/models--o--n/blobs/cc":                                         twoShards,
		"hub/models--o--n/snapshots/r/model.safetensors.index.json":         "-> ../../blobs/cc",
		"hub/models--o--n/snapshots/r/model-00001-of-00002.safetensors":     "-> ../../blobs/aa",
		"hub/models--o--n/snapshots/r/model-00002-of-00002.safetensors":     "-> ../../blobs/bb",
		"hub/models--o--n/snapshots/r/part/model.safetensors":               "-> ../../../blobs/aa",
		"hub/models--o--n/snapshots/out/model.safetensors":                  "-> ../../../models--x--y/blobs/aa",
		"hub/models--o--n/snapshots/far/model.safetensors.index.json":       "-> /etc/hostname",
		"hub/models--o--n/snapshots/loop/model.safetensors":                 "-> model.safetensors",
		"hub/models--o--n/snapshots/gone/model.safetensors":                 "-> ../../blobs/dd",
		"hub/models--o--n/snapshots/shard/model.safetensors.index.json":     "-> ../../blobs/cc",
		"hub/models--o--n/snapshots/shard/model-00001-of-00002.safetensors": "-> ../../../models--x--y/blobs/aa",
		"hub/models--x--y/blobs/aa":                                         one("a", 9),
		"hub/models--x--y/snapshots/r/model.safetensors":                    "-> ../../blobs/aa",
		"hub/plain/model.safetensors":                                       "-> ../models--x--y/blobs/aa",
		"hub/alias":                                                         "-> models--o--n/snapshots/r",
	})
}

// The files of a snapshot are links to the blobs of its repository, as a hub's
// cache has them.
func TestHub(t *testing.T) {
	dir := filepath.Join(hub(t), "hub")
	for path, want := range map[string]map[string]float64{
		"models--o--n/snapshots/r":                              {"a": 1, "b": 2},
		"models--o--n/snapshots/r/model.safetensors.index.json": {"a": 1, "b": 2},
		"models--o--n/snapshots/r/part":                         {"a": 1},
		"models--x--y/snapshots/r":                              {"a": 9},
		"alias":                                                 {"a": 1, "b": 2},
		"plain/model.safetensors":                               {"a": 9}, // named itself
	} {
		f, err := Open(filepath.Join(dir, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if have := len(f.Weights()); have != len(want) {
			t.Errorf("%s has %d weights, want %d", path, have, len(want))
		}
		for name, v := range want {
			w, err := f.Weight(name)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if got, err := w.Load(tensor.F32); err != nil || got.Elem(0) != v {
				t.Errorf("%s: %s is %v, %v; want %v", path, name, got, err, v)
			}
		}
		f.Close()
	}
}

// No link leads out of a folder, or out of the repository that it belongs to.
func TestLinksOut(t *testing.T) {
	dir := filepath.Join(hub(t), "hub")
	for path, want := range map[string]string{
		"plain":                        "plain/model.safetensors is a link that does not lead to a file of the model's folder",
		"models--o--n/snapshots/out":   "out/model.safetensors is a link that does not lead to a file of the model's folder",
		"models--o--n/snapshots/far":   "far/model.safetensors.index.json is a link that does not lead to a file of the model's folder",
		"models--o--n/snapshots/loop":  "loop/model.safetensors is a link that does not lead to a file of the model's folder",
		"models--o--n/snapshots/shard": "model-00001-of-00002.safetensors is a link that does not lead to a file of the model's folder",
		"models--o--n/snapshots/gone":  "has neither model.safetensors nor",
	} {
		f, err := Open(filepath.Join(dir, path))
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// What is no file is refused at once: nobody writes to the pipe.
func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors.index.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestFolderMissing checks that a file that is not there is named with its folder.
func TestFolderMissing(t *testing.T) {
	path := t.TempDir()
	f, err := OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := "open " + filepath.Join(path, "config.json") + ": no such file or directory"
	if _, err := f.Read("config.json", 1); !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}
