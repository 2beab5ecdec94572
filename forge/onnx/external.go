package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"

	"forgekernel/forge/mapped"
	"forgekernel/forge/onnx/proto"
)

// externalFiles maps the files beside a model that hold its weights. It never
// leaves the model's folder: no absolute path, no "..", no symbolic link, and no
// file that has another name as well.
type externalFiles struct {
	folder string // empty when the model is no file
	root   *os.Root
	open   map[string]*mapped.File
	used   map[string][]span // of each file, in order
}

// span is a part of a file, the last byte left out.
type span struct{ from, to int64 }

// external is what the entries of a tensor say.
type external struct {
	location       string
	offset, length int64 // length is -1 when absent
}

func parseExternal(entries []proto.Entry) (external, error) {
	e := external{length: -1}
	seen := make(map[string]bool)
	for _, kv := range entries {
		if seen[kv.Key] {
			return e, fmt.Errorf("external data: the key %q occurs twice", kv.Key)
		}
		seen[kv.Key] = true
		var err error
		switch kv.Key {
		case "location":
			e.location = kv.Value
		case "offset":
			e.offset, err = parseSize(kv.Value)
		case "length":
			e.length, err = parseSize(kv.Value)
		case "checksum", "basepath": // the first is advice, the second belongs to the writer's machine
		default:
			return e, fmt.Errorf("external data: the key %q is unknown", kv.Key)
		}
		if err != nil {
			return e, fmt.Errorf("external data: %s: %w", kv.Key, err)
		}
	}
	if e.location == "" {
		return e, errors.New("external data: there is no location")
	}
	return e, nil
}

// parseSize reads a number of bytes, which has digits only.
func parseSize(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of bytes", text)
	}
	return int64(n), nil
}

// read returns the bytes that entries refer to, of which there must be want.
func (x *externalFiles) read(entries []proto.Entry, want int) ([]byte, error) {
	e, err := parseExternal(entries)
	if err != nil {
		return nil, err
	}
	file, err := x.file(e.location)
	if err != nil {
		return nil, fmt.Errorf("external data %q: %w", e.location, err)
	}
	size := int64(len(file.Bytes()))
	if e.offset > size {
		return nil, fmt.Errorf("external data %q: it begins at byte %d of %d", e.location, e.offset, size)
	}
	if e.length < 0 {
		e.length = size - e.offset
	}
	if e.length > size-e.offset {
		return nil, fmt.Errorf("external data %q: it ends at byte %d of %d", e.location, e.offset+e.length, size)
	}
	if e.length != int64(want) {
		return nil, fmt.Errorf("external data %q: it has %d bytes; the tensor needs %d", e.location, e.length, want)
	}
	if err := x.claim(e.location, span{e.offset, e.offset + e.length}); err != nil {
		return nil, fmt.Errorf("external data %q: %w", e.location, err)
	}
	return file.Bytes()[e.offset : e.offset+e.length], nil
}

// claim makes sure that tensors share their data wholly or not at all: files of
// which parts overlap are not written by any tool, and would let a small file stand
// for many large tensors.
func (x *externalFiles) claim(location string, s span) error {
	if s.from == s.to {
		return nil
	}
	list := x.used[location]
	at, found := slices.BinarySearchFunc(list, s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	switch {
	case found && list[at].to == s.to:
		return nil
	case found || at < len(list) && list[at].from < s.to || at > 0 && list[at-1].to > s.from:
		return fmt.Errorf("bytes %d to %d overlap those of another tensor", s.from, s.to)
	}
	if x.used == nil {
		x.used = make(map[string][]span)
	}
	x.used[location] = slices.Insert(list, at, s)
	return nil
}

// file maps a file of the model's folder.
func (x *externalFiles) file(location string) (*mapped.File, error) {
	if x.folder == "" {
		return nil, errors.New("the model was not read from a folder")
	}
	if location != path.Clean(location) || !fs.ValidPath(location) {
		return nil, errors.New("the location is no plain path within the model's folder")
	}
	if f := x.open[location]; f != nil {
		return f, nil
	}
	if x.root == nil {
		root, err := os.OpenRoot(x.folder)
		if err != nil {
			return nil, err
		}
		x.root = root
	}
	info, err := x.root.Lstat(location)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := x.root.Open(location)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := mapped.Map(f)
	if err != nil {
		return nil, err
	}
	if s, ok := m.Info().Sys().(*syscall.Stat_t); !os.SameFile(info, m.Info()) || ok && s.Nlink > 1 {
		m.Close()
		return nil, errors.New("the file has another name as well, which may be outside the model's folder")
	}
	if x.open == nil {
		x.open = make(map[string]*mapped.File)
	}
	x.open[location] = m
	return m, nil
}

func (x *externalFiles) close() error {
	var errs []error
	for _, f := range x.open {
		errs = append(errs, f.Close())
	}
	if x.root != nil {
		errs = append(errs, x.root.Close())
	}
	x.open, x.root = nil, nil
	return errors.Join(errs...)
}
