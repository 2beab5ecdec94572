package colab

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Limits of an archive that comes back. A notebook of others may have written it.
const (
	maxEntries  = 10000
	maxUnpacked = 1 << 30 // bytes
)

// unpack extracts an archive into a folder that is there, and nothing outside of it: folders
// and regular files alone.
func unpack(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s is not an archive: %w", path, err)
	}
	files := tar.NewReader(z)
	left := int64(maxUnpacked)
	for range maxEntries {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = extract(root, h, files, &left)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return fmt.Errorf("%s has more than %d entries", path, maxEntries)
}

func extract(root *os.Root, h *tar.Header, content io.Reader, left *int64) error {
	name := filepath.FromSlash(h.Name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leads out of its folder", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a folder", h.Name)
	}
	if *left -= h.Size; h.Size < 0 || *left < 0 {
		return fmt.Errorf("it holds more than %d MiB", maxUnpacked>>20)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, content, h.Size)
	return errors.Join(err, f.Close())
}
