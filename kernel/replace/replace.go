// Package replace writes files so that nobody ever reads half of one.
package replace

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File stores what write writes at path: in a file beside it, which is renamed
// when it is complete. After an error path is as it was. A file that exists
// keeps its mode, and a symbolic link still points where it did. What is no
// regular file, such as /dev/stdout or a named pipe, is written to as it stands:
// to rename something over it would remove it. Errors name path.
func File(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		return direct(path, write)
	case err == nil:
		return beside(path, info.Mode().Perm(), write)
	case errors.Is(err, fs.ErrNotExist):
		return beside(path, 0, write)
	}
	return err
}

// direct writes to what stands at path.
func direct(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(buffered(f, write), f.Close())
}

// beside writes a sibling of path and renames it. A mode of 0 is that of a new
// file.
func beside(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	target := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	sibling := filepath.Join(filepath.Dir(target), ".new-"+rand.Text())
	// Not os.CreateTemp, which would pass over the umask.
	f, err := os.OpenFile(sibling, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return about(path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(sibling)
		}
	}()
	if mode != 0 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = buffered(f, write)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return about(path, err)
	}
	return about(path, os.Rename(sibling, target))
}

func buffered(f *os.File, write func(io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// about makes an error of the sibling, which nobody knows, one of path.
func about(path string, err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		return &fs.PathError{Op: "write", Path: path, Err: file.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: "write", Path: path, Err: link.Err}
	}
	return err
}
