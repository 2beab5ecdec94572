package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// incoming is the folder, in the one of what came back, of what is still coming.
const incoming = ".incoming"

// Incoming is where [Deliver] lets files of a folder arrive.
func Incoming(dir string) string { return filepath.Join(dir, incoming) }

// Deliver brings files that a host gives back into the folder dir, all of them or none:
// fetch writes them into [Incoming], and they take their places when it has them all. What
// stood in these places is replaced, and the result of an earlier job is removed; what
// else is in the folder stays.
func Deliver(dir string, fetch func(incoming string) error) (err error) {
	_, before := os.Lstat(dir)
	from := Incoming(dir)
	defer func() {
		err = errors.Join(err, os.RemoveAll(from))
		if err != nil && errors.Is(before, fs.ErrNotExist) {
			os.Remove(dir) // if it is empty, as it was not there
		}
	}()
	// What a fetch that was killed has left is part of nothing.
	if err := errors.Join(os.RemoveAll(from), os.MkdirAll(from, 0o755)); err != nil {
		return err
	}
	if err := fetch(from); err != nil {
		return err
	}
	folders, files, err := arrived(from)
	if err != nil {
		return err
	}
	if err := haveRoom(dir, folders, files); err != nil {
		return err
	}
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dir, ResultName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range files {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// arrived lists what stands below a folder; anything but folders and regular files is left.
func arrived(from string) (folders, files []string, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path) // it is below
		switch {
		case err != nil:
			return err
		case e.Type().IsRegular():
			files = append(files, name)
		case e.IsDir() && name != ".":
			folders = append(folders, name)
		}
		return nil
	})
	return folders, files, err
}

// haveRoom refuses files where folders are, and folders where files are.
func haveRoom(dir string, folders, files []string) error {
	for _, name := range folders {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file, and a folder came back in its place", filepath.Join(dir, name))
		}
	}
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a folder, and a file came back in its place", filepath.Join(dir, name))
		}
	}
	return nil
}
