package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/forge/mapped"
	"forgekernel/forge/tensor"
)

// MaxHeader is the largest table of a safetensors file, in bytes, as the format says.
const MaxHeader = 100_000_000

var safetensorTypes = map[string]coding{
	"F32": plain(tensor.F32), "F64": plain(tensor.F64), "F16": plain(tensor.F16), "BF16": plain(tensor.BF16),
	"I64": plain(tensor.I64), "I32": plain(tensor.I32), "BOOL": plain(tensor.Bool),
	"I8": codeI8, "U8": codeU8, "I16": codeI16, "U16": codeU16, "U32": codeU32,
}

// header is one entry of the table.
type header struct {
	DType   string    `json:"dtype"`
	Shape   []int64   `json:"shape"`
	Offsets *[2]int64 `json:"data_offsets"`
}

// readSafetensors checks the table: tensors cover the data without gaps and
// overlaps.
func (f *File) readSafetensors(b []byte) error {
	f.format = "safetensors"
	n := binary.LittleEndian.Uint64(b)
	if n > MaxHeader || n > uint64(len(b)-8) {
		return fmt.Errorf("the table has %d bytes; the file has %d, and %d are the most", n, len(b), MaxHeader)
	}
	data := b[8+n:]
	var entries []entry
	err := eachField(b[8:8+n], func(name string, raw json.RawMessage) error {
		if name == "__metadata__" {
			var meta map[string]string
			if err := json.Unmarshal(raw, &meta); err != nil {
				return fmt.Errorf("__metadata__: %w", err)
			}
			f.meta = make(map[string]any, len(meta))
			for k, v := range meta {
				f.meta[k] = v
			}
			return nil
		}
		e, err := readEntry(name, raw, data)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.weights = append(f.weights, e.Weight)
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	return checkCover(entries, int64(len(data)))
}

// entry is a weight with its place in the data.
type entry struct {
	*Weight
	from, to int64
}

func readEntry(name string, raw json.RawMessage, data []byte) (entry, error) {
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		return entry{}, err
	}
	code, ok := safetensorTypes[h.DType]
	if !ok {
		return entry{}, fmt.Errorf("elements of type %q are not supported", h.DType)
	}
	if h.Offsets == nil {
		return entry{}, errors.New("it has no data_offsets")
	}
	from, to := h.Offsets[0], h.Offsets[1]
	if from < 0 || to < from || to > int64(len(data)) {
		return entry{}, fmt.Errorf("its data is at bytes %d to %d of %d", from, to, len(data))
	}
	shape, n, err := dimensions(h.Shape)
	if err != nil {
		return entry{}, err
	}
	if int64(n)*int64(code.bytes) != to-from {
		return entry{}, fmt.Errorf("%s%s needs %d bytes; it has %d", h.DType, tensor.FormatShape(shape), n*code.bytes, to-from)
	}
	return entry{&Weight{Name: name, Type: h.DType, Shape: shape, code: code, raw: data[from:to:to]}, from, to}, nil
}

// dimensions checks a shape of a file.
func dimensions(list []int64) ([]int, int, error) {
	shape := make([]int, len(list))
	for i, d := range list {
		if d < 0 || d > tensor.MaxElements {
			return nil, 0, fmt.Errorf("%d is no dimension", d)
		}
		shape[i] = int(d)
	}
	n, err := tensor.Elements(shape)
	return shape, n, err
}

// checkCover follows the tensors through the data.
func checkCover(entries []entry, size int64) error {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	at := int64(0)
	for _, e := range entries {
		switch {
		case e.from < at:
			return fmt.Errorf("tensor %q overlaps another at byte %d of the data", e.Name, e.from)
		case e.from > at:
			return fmt.Errorf("bytes %d to %d of the data belong to no tensor", at, e.from)
		}
		at = e.to
	}
	if at != size {
		return fmt.Errorf("the tensors have %d bytes, the data %d", at, size)
	}
	return nil
}

// eachField reads a JSON object field by field; one that occurs twice is an error.
func eachField(b []byte, visit func(name string, raw json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the table is no JSON object")
	}
	seen := make(map[string]bool)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("table: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("%q occurs twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("table: %w", err)
		}
		if err := visit(name, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	if rest := bytes.TrimLeft(b[d.InputOffset():], " "); len(rest) > 0 {
		return errors.New("the table goes on after its end")
	}
	return nil
}

// index is a model.safetensors.index.json.
type index struct {
	Files map[string]string `json:"weight_map"`
}

// MaxIndex is the largest index file, in bytes.
const MaxIndex = 64 << 20

// openIndex opens the files that an index names, which stand beside it.
func openIndex(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxIndex {
		return nil, fmt.Errorf("the index has %d bytes; it may have %d", info.Size(), MaxIndex)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var ix index
	if err := json.Unmarshal(raw, &ix); err != nil {
		return nil, err
	}
	if len(ix.Files) == 0 {
		return nil, errors.New("the index names no weights")
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f := &File{format: "safetensors"}
	if err := f.addShards(root, ix.Files); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) addShards(root *os.Root, files map[string]string) error {
	shards := make(map[string]*File)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		if shards[file] == nil {
			s, err := openShard(root, file)
			if err != nil {
				return fmt.Errorf("%q: %w", file, err)
			}
			shards[file] = s
			f.maps = append(f.maps, s.maps...)
		}
		w, err := shards[file].Weight(name)
		if err != nil {
			return fmt.Errorf("%q: %w, which the index places there", file, err)
		}
		f.weights = append(f.weights, w)
	}
	return nil
}

// openShard opens a file of the index's own folder.
func openShard(root *os.Root, name string) (*File, error) {
	if !fs.ValidPath(name) || strings.ContainsRune(name, '/') {
		return nil, errors.New("it is no file of the index's folder")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := mapped.Map(file)
	if err != nil {
		return nil, err
	}
	s := &File{maps: []*mapped.File{m}}
	if len(m.Bytes()) < 9 {
		err = errors.New("it is no safetensors file")
	} else {
		err = s.readSafetensors(m.Bytes())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	slices.SortFunc(s.weights, func(a, b *Weight) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}
