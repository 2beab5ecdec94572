package weights

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"forgekernel/forge/tensor"
)

// Limits of a GGUF file.
const (
	maxHead       = 64 << 20 // bytes of metadata and table; they take up to 16 times as many in memory
	maxKey        = 65535
	maxTensorName = 64
	maxArrayDepth = 4
)

// ggufTypes are the tensor types by number.
var ggufTypes = map[uint32]struct {
	name string
	code coding
}{
	0: {"F32", plain(tensor.F32)}, 1: {"F16", plain(tensor.F16)}, 30: {"BF16", plain(tensor.BF16)}, 28: {"F64", plain(tensor.F64)},
	2: {"Q4_0", codeQ4_0}, 3: {"Q4_1", codeQ4_1}, 6: {"Q5_0", codeQ5_0}, 7: {"Q5_1", codeQ5_1}, 8: {"Q8_0", codeQ8_0},
	12: {"Q4_K", codeQ4_K}, 13: {"Q5_K", codeQ5_K}, 14: {"Q6_K", codeQ6_K},
	24: {"I8", codeI8}, 25: {"I16", codeI16}, 26: {"I32", plain(tensor.I32)}, 27: {"I64", plain(tensor.I64)},
}

// ggufReader reads the head of a file, what comes before its data. The first error
// stays.
type ggufReader struct {
	b   []byte
	at  int
	err error
}

func (r *ggufReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %s", r.at, fmt.Sprintf(format, args...))
	}
}

func (r *ggufReader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)-r.at) {
		r.fail("%d bytes are needed: %s", n, r.left())
	}
	if r.err != nil {
		return nil
	}
	b := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *ggufReader) left() string {
	s := fmt.Sprintf("%d bytes are left", len(r.b)-r.at)
	if len(r.b) == maxHead {
		s += fmt.Sprintf(" of the %d that metadata may have", maxHead)
	}
	return s
}

func (r *ggufReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *ggufReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads a number of things of at least size bytes each.
func (r *ggufReader) count(size uint64, what string) int {
	n := r.u64()
	if r.err == nil && n > uint64(len(r.b)-r.at)/size {
		r.fail("there cannot be %d %s: %s", n, what, r.left())
		return 0
	}
	return int(n)
}

func (r *ggufReader) text(limit int) string {
	n := r.u64()
	if r.err == nil && n > uint64(limit) {
		r.fail("a text of %d bytes; at most %d are allowed", n, limit)
	}
	s := string(r.take(n))
	if r.err == nil && limit <= maxKey && !utf8.ValidString(s) {
		r.fail("a name is not UTF-8")
	}
	return s
}

// ggufScalars read the values of metadata by type; string and array are apart.
var ggufScalars = map[uint32]struct {
	size uint64
	read func([]byte) any
}{
	0: {1, func(b []byte) any { return b[0] }}, 1: {1, func(b []byte) any { return int8(b[0]) }},
	2: {2, func(b []byte) any { return binary.LittleEndian.Uint16(b) }}, 3: {2, func(b []byte) any { return int16(binary.LittleEndian.Uint16(b)) }},
	4: {4, func(b []byte) any { return binary.LittleEndian.Uint32(b) }}, 5: {4, func(b []byte) any { return int32(binary.LittleEndian.Uint32(b)) }},
	6:  {4, func(b []byte) any { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	7:  {1, func(b []byte) any { return b[0] != 0 }},
	10: {8, func(b []byte) any { return binary.LittleEndian.Uint64(b) }}, 11: {8, func(b []byte) any { return int64(binary.LittleEndian.Uint64(b)) }},
	12: {8, func(b []byte) any { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
}

const (
	ggufString = 8
	ggufArray  = 9
)

func (r *ggufReader) value(kind uint32, depth int) any {
	switch s, ok := ggufScalars[kind]; {
	case ok:
		if b := r.take(s.size); b != nil {
			return s.read(b)
		}
	case kind == ggufString:
		return r.text(math.MaxInt32)
	case kind == ggufArray && depth < maxArrayDepth:
		return r.array(depth)
	case kind == ggufArray:
		r.fail("arrays are nested more than %d deep", maxArrayDepth)
	default:
		r.fail("values of type %d are unknown", kind)
	}
	return nil
}

// array reads a list: []string, []float32, []int32 for the types that large lists
// have, else []any.
func (r *ggufReader) array(depth int) any {
	kind := r.u32()
	size := uint64(8)
	if s, ok := ggufScalars[kind]; ok {
		size = s.size
	}
	n := r.count(size, "items")
	switch kind {
	case ggufString:
		return list(r, n, func() string { return r.text(math.MaxInt32) })
	case 5:
		return list(r, n, func() int32 { return int32(r.u32()) })
	case 6:
		return list(r, n, func() float32 { return math.Float32frombits(r.u32()) })
	}
	return list(r, n, func() any { return r.value(kind, depth+1) })
}

func list[T any](r *ggufReader, n int, next func() T) []T {
	var items []T
	for range n {
		if r.err != nil {
			return nil
		}
		items = append(items, next())
	}
	return items
}

// readGGUF reads version 3 in little-endian order.
func (f *File) readGGUF(b []byte) error {
	f.format = "gguf"
	r := &ggufReader{b: b[:min(len(b), maxHead)], at: 4}
	if v := r.u32(); r.err == nil && v != 3 {
		return fmt.Errorf("it has version %d; version 3 is supported, in little-endian order", v)
	}
	tensors := r.count(24, "tensors")
	pairs := r.count(13, "keys")
	if r.err != nil {
		return r.err
	}
	f.meta = make(map[string]any)
	for range pairs {
		key := r.text(maxKey)
		value := r.value(r.u32(), 0)
		if _, ok := f.meta[key]; ok {
			r.fail("the key %q occurs twice", key)
		}
		if r.err != nil {
			return r.err
		}
		f.meta[key] = value
	}
	alignment := uint64(32)
	if v, ok := f.meta["general.alignment"]; ok {
		a, ok := v.(uint32)
		if !ok || a < 8 || a&(a-1) != 0 {
			return fmt.Errorf("general.alignment is %v; it must be a power of two from 8 on", v)
		}
		alignment = uint64(a)
	}
	entries, err := r.tensorTable(tensors)
	if err != nil {
		return err
	}
	start := (uint64(r.at) + alignment - 1) / alignment * alignment
	if start > uint64(len(b)) {
		if len(entries) > 0 {
			return errors.New("the file ends before its data")
		}
		start = uint64(len(b))
	}
	return f.placeGGUF(entries, b[start:], alignment)
}

// ggufTensor is a line of the tensor table.
type ggufTensor struct {
	*Weight
	offset uint64
}

func (r *ggufReader) tensorTable(n int) ([]ggufTensor, error) {
	var entries []ggufTensor
	seen := make(map[string]bool)
	for range n {
		name := r.text(maxTensorName)
		rank := r.u32()
		if rank > 4 {
			r.fail("tensor %q has %d dimensions; at most 4 are allowed", name, rank)
		}
		var dims []int64
		for range min(rank, 4) {
			dims = append([]int64{int64(r.u64())}, dims...) // the first is the fastest
		}
		kind, offset := r.u32(), r.u64()
		if seen[name] {
			r.fail("tensor %q occurs twice", name)
		}
		seen[name] = true
		if r.err != nil {
			return nil, r.err
		}
		t, ok := ggufTypes[kind]
		if !ok {
			return nil, fmt.Errorf("tensor %q has type %d, which is not supported", name, kind)
		}
		shape, _, err := dimensions(dims)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, ggufTensor{&Weight{Name: name, Type: t.name, Shape: shape, code: t.code}, offset})
	}
	return entries, nil
}

// placeGGUF finds the bytes of each tensor.
func (f *File) placeGGUF(entries []ggufTensor, data []byte, alignment uint64) error {
	for _, e := range entries {
		n, _ := tensor.Elements(e.Shape)
		block := e.code.block
		if last := len(e.Shape); last > 0 && e.Shape[last-1]%block != 0 || last == 0 && block > 1 {
			return fmt.Errorf("tensor %q: rows of %s are no whole blocks of %d elements", e.Name, tensor.FormatShape(e.Shape), block)
		}
		size := uint64(n/block) * uint64(e.code.bytes)
		if e.offset%alignment != 0 {
			return fmt.Errorf("tensor %q: its offset %d is no multiple of %d", e.Name, e.offset, alignment)
		}
		if e.offset > uint64(len(data)) || size > uint64(len(data))-e.offset {
			return fmt.Errorf("tensor %q: it has %d bytes from %d on; the data has %d", e.Name, size, e.offset, len(data))
		}
		e.raw = data[e.offset : e.offset+size : e.offset+size]
		f.weights = append(f.weights, e.Weight)
	}
	slices.SortFunc(entries, func(a, b ggufTensor) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(entries); i++ {
		if before := entries[i-1]; before.offset+uint64(len(before.raw)) > entries[i].offset && len(entries[i].raw) > 0 {
			return fmt.Errorf("tensors %q and %q overlap", before.Name, entries[i].Name)
		}
	}
	return nil
}
