package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"slices"
	"time"
)

// file is what an archive holds under a name.
type file struct {
	data       []byte
	executable bool
}

// pack makes a .tar.gz of files below one folder: in the order of their names, all of one
// time and of user and group 0.
func pack(folder string, at time.Time, files map[string]file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		mode := int64(0o644)
		if f.executable {
			mode = 0o755
		}
		h := tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: folder + "/" + name, Mode: mode, Size: int64(len(f.data)), ModTime: at}
		if err := t.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
