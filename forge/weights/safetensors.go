package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"forgekernel/forge/mapped"
	"forgekernel/forge/tensor"
)

// maxHeader is the largest table of a safetensors file, in bytes, as the format says.
const maxHeader = 100_000_000

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

func isSafetensors(b []byte) bool { return len(b) > 8 && b[8] == '{' }

// readSafetensors checks the table: tensors cover the data without gaps and
// overlaps.
func (f *File) readSafetensors(b []byte) error {
	if f.format = "safetensors"; !isSafetensors(b) {
		return errors.New("it is no safetensors file")
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader || n > uint64(len(b)-8) {
		return fmt.Errorf("the table has %d bytes; the file has %d, and %d are the most", n, len(b), maxHeader)
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
		return errors.New("the table is not a JSON object")
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

// maxIndex is the largest index file, in bytes.
const maxIndex = 64 << 20

// openIndex opens the files that an index names, which stand beside it.
func openIndex(folder *Folder, name string) (*File, error) {
	raw, err := folder.Read(name, maxIndex)
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
	f := &File{format: "safetensors"}
	if err := f.addShards(folder, ix.Files); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) addShards(folder *Folder, files map[string]string) error {
	shards := make(map[string]*File)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		if shards[file] == nil {
			s, err := openShard(folder, file)
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

// openShard opens a safetensors file of a folder.
func openShard(folder *Folder, name string) (*File, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := mapped.Map(file)
	if err != nil {
		return nil, err
	}
	return parse(m, (*File).readSafetensors)
}
