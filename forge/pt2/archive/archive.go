// Package archive reads the archives that torch.export.save writes: the container,
// the JSON of the program, and the tensors.
//
// A .pt2 file is a zip archive with one folder. Its records are stored as they are,
// so that a mapped file is read in place: nothing is copied before [Archive.Tensor]
// makes a tensor, and no checksum is computed. Every size and offset is checked
// against the record that it is about.
//
// What needs Python's pickle is never read. Files that keep their weights in it, as
// those of older releases do, are refused with what to do about it.
package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Limits of a file.
const (
	MaxRecords = 1 << 18
	MaxJSON    = 256 << 20 // bytes of a JSON record
)

// Archive is an opened file.
type Archive struct {
	Model     string // the name of the model within the archive
	Program   *Program
	records   map[string][]byte // by name below the archive's folder
	weights   map[string]*Payload
	constants map[string]*Payload
	budget    int64 // bytes that all tensors may have
}

// Read reads an archive. It keeps raw, and nothing outside it.
func Read(raw []byte) (*Archive, error) {
	a := &Archive{}
	if err := a.readRecords(raw); err != nil {
		return nil, err
	}
	if err := a.checkFormat(); err != nil {
		return nil, err
	}
	if err := a.findModel(); err != nil {
		return nil, err
	}
	if err := a.readProgram(); err != nil {
		return nil, err
	}
	var err error
	if a.weights, err = a.readPayloads("weights"); err != nil {
		return nil, err
	}
	if a.constants, err = a.readPayloads("constants"); err != nil {
		return nil, err
	}
	a.budget = 2*int64(len(raw)) + FreeBytes
	return a, nil
}

// How to make a file that is read.
const again = "save the module again with torch.export.save of PyTorch 2.9 or later"

func (a *Archive) readRecords(raw []byte) error {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return fmt.Errorf("it is no zip archive, as torch.export.save writes: %w", err)
	}
	if len(z.File) == 0 || len(z.File) > MaxRecords {
		return fmt.Errorf("the archive has %d records; 1 to %d are supported", len(z.File), MaxRecords)
	}
	root, _, ok := strings.Cut(z.File[0].Name, "/")
	if !ok {
		return withoutFolder(z)
	}
	a.records = make(map[string][]byte, len(z.File))
	for _, f := range z.File {
		name, below := strings.CutPrefix(f.Name, root+"/")
		if !below {
			return fmt.Errorf("record %q is not in the archive's folder, %q", f.Name, root)
		}
		if a.records[name] != nil {
			return fmt.Errorf("record %q occurs twice", f.Name)
		}
		if a.records[name], err = record(raw, f); err != nil {
			return fmt.Errorf("record %q: %w", f.Name, err)
		}
	}
	return nil
}

// withoutFolder tells what a zip file without a folder is.
func withoutFolder(z *zip.Reader) error {
	for _, f := range z.File {
		if f.Name == "serialized_exported_program.json" {
			return errors.New("the file was written by PyTorch 2.7 or earlier, with its weights pickled: " + again)
		}
	}
	return errors.New("the archive has no folder, so it is no .pt2 file: " + again)
}

// record is the content of a record, in place.
func record(raw []byte, f *zip.File) ([]byte, error) {
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return nil, errors.New("it is encrypted")
	}
	if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 {
		return nil, errors.New("it is compressed; torch.export.save stores records as they are")
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	size := int64(len(raw))
	if at < 0 || at > size || f.UncompressedSize64 > uint64(size-at) {
		return nil, fmt.Errorf("it has %d bytes from %d on; the file has %d", f.UncompressedSize64, at, size)
	}
	end := at + int64(f.UncompressedSize64)
	return raw[at:end:end], nil
}

func (a *Archive) checkFormat() error {
	format, ok := a.records["archive_format"]
	switch {
	case !ok && a.records["data.pkl"] != nil:
		return errors.New("the file is one of torch.save or TorchScript: export the module with torch.export.export, and " + again)
	case !ok:
		return errors.New("the archive does not name its format, so it is no .pt2 file: " + again)
	case strings.TrimSpace(string(format)) != "pt2":
		return fmt.Errorf("the archive's format is %.20q instead of \"pt2\"", format)
	}
	if v, ok := a.records["archive_version"]; ok && strings.TrimSpace(string(v)) != "0" {
		return fmt.Errorf("version %.20q of the archive format is not supported; version 0 is", v)
	}
	if order, ok := a.records["byteorder"]; ok && strings.TrimSpace(string(order)) != "little" {
		return fmt.Errorf("the byte order is %.20q; little is supported", order)
	}
	return nil
}

// findModel looks for the one model of the archive.
func (a *Archive) findModel() error {
	var names []string
	compiled := false
	for _, name := range slices.Sorted(maps.Keys(a.records)) {
		folder, base := path.Split(name)
		if folder == "models/" && strings.HasSuffix(base, ".json") {
			names = append(names, strings.TrimSuffix(base, ".json"))
		}
		compiled = compiled || strings.HasPrefix(name, "data/aotinductor/")
	}
	switch {
	case len(names) == 1:
		a.Model = names[0]
	case len(names) == 0 && compiled:
		return errors.New("the file holds a model compiled by AOTInductor, which is machine code and no program: save the exported program itself with torch.export.save")
	case len(names) == 0:
		return errors.New("the archive has no model: " + again)
	case slices.Contains(names, "model"):
		a.Model = "model"
	default:
		return fmt.Errorf("the archive has %d models, %s: save one of them to a file of its own", len(names), strings.Join(names[:min(len(names), 10)], ", "))
	}
	return nil
}
