package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/forge/textfile"
)

// Limits of what [ReadDir] reads.
const (
	maxRecords     = 1000
	maxRecordBytes = 16 << 20
)

// extension is that of the files of records.
const extension = ".record"

// ReadDir reads all records of a directory, in order of their file names.
func ReadDir(dir string) ([]*Record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), extension) })
	switch {
	case len(entries) == 0:
		return nil, fmt.Errorf("%s holds no records (*%s)", dir, extension)
	case len(entries) > maxRecords:
		return nil, fmt.Errorf("%s holds %d records; at most %d are read", dir, len(entries), maxRecords)
	}
	var records []*Record
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		r, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		records = append(records, r)
	}
	return records, nil
}

func readFile(path string) (*Record, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecordBytes {
		return nil, fmt.Errorf("it is no file of at most %d MiB", maxRecordBytes>>20)
	}
	text, err := textfile.Read(path, maxRecordBytes)
	if err != nil {
		return nil, err
	}
	return Parse(string(text))
}

// WriteDir writes one file per record, each whole or not at all.
func WriteDir(dir string, records []*Record) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, r := range records {
		if !isName(r.Model) {
			return fmt.Errorf("%q cannot be the name of a file", r.Model)
		}
		path := filepath.Join(dir, r.Model+extension)
		if err := os.WriteFile(path+".new", []byte(r.Text()), 0o644); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

// CompareDirs compares the records of two directories.
func CompareDirs(old, new string) (Report, error) {
	a, err := ReadDir(old)
	if err != nil {
		return nil, err
	}
	b, err := ReadDir(new)
	if err != nil {
		return nil, err
	}
	return Compare(a, b), nil
}
