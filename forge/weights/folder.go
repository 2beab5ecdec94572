package weights

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is the folder of a model, whose files may come from anybody. Links in it
// are followed as far as the folder goes and no further.
//
// In a cache of the Hugging Face hub that is the folder of the repository, since
// the files of a snapshot are links to its blobs:
//
//	models--org--name/snapshots/1a2b…/config.json -> ../../blobs/3c4d…
type Folder struct {
	root *os.Root
	path string // as it was given
	at   string // of the model below root
}

// OpenFolder opens a folder. It is trusted itself, also where it is a link.
func OpenFolder(path string) (*Folder, error) {
	real, err := filepath.Abs(path)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	base := repository(real)
	at, err := filepath.Rel(base, real)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, path: path, at: at}, nil
}

// repository is the folder of a hub's cache that a snapshot, or a folder in one,
// belongs to. A folder that belongs to none is its own.
func repository(folder string) string {
	for at := folder; at != filepath.Dir(at); at = filepath.Dir(at) {
		parent := filepath.Dir(at)
		if filepath.Base(parent) != "snapshots" {
			continue
		}
		repo := filepath.Dir(parent)
		if info, err := os.Lstat(filepath.Join(repo, "blobs")); err == nil && info.IsDir() {
			return repo
		}
	}
	return folder
}

// Path is that of a file of the folder, for messages.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Open opens a regular file of the folder itself.
func (f *Folder) Open(name string) (*os.File, error) {
	path := f.Path(name)
	if !fs.ValidPath(name) || strings.ContainsRune(name, '/') {
		return nil, fmt.Errorf("%q is no file of the folder %s", name, f.path)
	}
	below := filepath.Join(f.at, name)
	// Without waiting for the writer of a named pipe, which is refused below.
	file, err := f.root.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		link, failed := f.root.Lstat(below)
		if failed == nil && link.Mode().Type() == fs.ModeSymlink && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is a link that does not lead to a file of the model's folder: %w", path, err)
		}
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = &fs.PathError{Op: "open", Path: path, Err: e.Err} // the root does not say where it is
		}
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Read reads a file of at most so many bytes.
func (f *Folder) Read(name string, limit int64) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", f.Path(name), limit)
	}
	return raw, err
}

// Close ends the use of the folder. Files that were opened stay open.
func (f *Folder) Close() error { return f.root.Close() }
