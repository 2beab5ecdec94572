// Package weights reads files of named tensors: safetensors, also in shards,
// GGUF and npz.
//
// [Open] maps a file and checks its table against the file's real size: every
// offset, length and count, before anything is allocated. A [Weight] is then
// decoded when it is asked for, whole or one part of it, as a rank of a
// distributed program needs: only the pages of that part are read from disk, and
// they are given back when it has been decoded.
package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/forge/mapped"
	"forgekernel/forge/tensor"
)

// File is an opened source of weights.
type File struct {
	format  string
	weights []*Weight // by name
	meta    map[string]any
	maps    []*mapped.File
}

// Weight is a tensor of a file.
type Weight struct {
	Name  string
	Type  string // as the format names it: "BF16", "Q4_K"
	Shape []int
	code  coding
	raw   []byte
	file  *mapped.File // that raw is of
	// ready is a tensor of a format that is not mapped.
	ready *tensor.Tensor
}

// indexSuffix ends the name of a file that says which of its neighbours hold
// which weights.
const indexSuffix = ".index.json"

// Open opens a file by what it holds, or a folder by what it contains:
// model.safetensors.index.json, else model.safetensors. Where links in a folder may
// lead is as [Folder] says; a file of weights that is named itself may be any link.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := path, ""
	if !info.IsDir() {
		if !strings.HasSuffix(path, indexSuffix) {
			return openFile(path, info)
		}
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	folder, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.weights(name)
}

// weights opens the named file, or by default what the folder has.
func (f *Folder) weights(name string) (*File, error) {
	const single = "model.safetensors"
	if name == "" {
		name = single + indexSuffix
		if _, err := f.root.Lstat(filepath.Join(f.at, name)); err != nil {
			name = single
		}
	}
	open := openShard
	if strings.HasSuffix(name, indexSuffix) {
		open = openIndex
	}
	file, err := open(f, name)
	if name == single && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has neither %s nor %s", f.path, single, single+indexSuffix)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path(name), err)
	}
	return file, nil
}

func openFile(path string, info os.FileInfo) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	b := m.Bytes()
	read := func(*File, []byte) error { return errors.New("it is neither safetensors nor GGUF nor npz") }
	switch {
	case len(b) >= 4 && string(b[:4]) == "GGUF":
		read = (*File).readGGUF
	case len(b) >= 4 && string(b[:4]) == "PK\x03\x04":
		read = func(f *File, _ []byte) error { return f.readNPZ(path, info.Size()) }
	case isSafetensors(b):
		read = (*File).readSafetensors
	}
	f, err := parse(m, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse makes a file of a mapping, which it closes on an error.
func parse(m *mapped.File, read func(*File, []byte) error) (*File, error) {
	f := &File{maps: []*mapped.File{m}}
	if err := read(f, m.Bytes()); err != nil {
		f.Close()
		return nil, err
	}
	for _, w := range f.weights {
		w.file = m
	}
	slices.SortFunc(f.weights, func(a, b *Weight) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

func (f *File) readNPZ(path string, size int64) error {
	f.format = "npz"
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	named, err := tensor.ReadNPZ(file, size)
	for _, n := range named {
		f.weights = append(f.weights, &Weight{Name: n.Name, Type: n.Tensor.DType().String(), Shape: n.Tensor.Shape(), ready: n.Tensor})
	}
	return err
}

// Format is "safetensors", "gguf" or "npz".
func (f *File) Format() string { return f.format }

// Meta is what the file says beside its tensors. Values are those that the format
// has: strings, numbers, bools and lists of them.
func (f *File) Meta() map[string]any { return f.meta }

// Weights are the tensors in order of their names.
func (f *File) Weights() []*Weight { return slices.Clone(f.weights) }

// Weight is the tensor of a name.
func (f *File) Weight(name string) (*Weight, error) {
	i, ok := slices.BinarySearchFunc(f.weights, name, func(w *Weight, name string) int { return strings.Compare(w.Name, name) })
	if !ok {
		return nil, fmt.Errorf("there is no weight %q", name)
	}
	return f.weights[i], nil
}

// Close ends the mapping. Tensors that were loaded stay valid; no weight may be
// loaded afterwards.
func (f *File) Close() error {
	var errs []error
	for _, m := range f.maps {
		errs = append(errs, m.Close())
	}
	f.maps = nil
	for _, w := range f.weights {
		w.raw = nil
	}
	return errors.Join(errs...)
}

// Bytes is the size of the weight in its file.
func (w *Weight) Bytes() int64 {
	if w.ready != nil {
		return int64(w.ready.Len() * w.ready.DType().Size())
	}
	return int64(len(w.raw))
}

// DType is the element type that holds every value of the weight: that of its
// file, or f32 for a quantised one.
func (w *Weight) DType() tensor.DType {
	if w.ready != nil {
		return w.ready.DType()
	}
	return w.code.dtype
}

// Load decodes the whole weight and converts it to a type.
func (w *Weight) Load(to tensor.DType) (*tensor.Tensor, error) {
	return w.part(w.Shape, 0, 0, -1, to)
}

// LoadPart decodes the elements from … to-1 along an axis.
func (w *Weight) LoadPart(axis, from, to int, dtype tensor.DType) (*tensor.Tensor, error) {
	if axis < 0 || axis >= len(w.Shape) || from < 0 || to < from || to > w.Shape[axis] {
		return nil, fmt.Errorf("weight %s has shape %s; there is no part %d to %d of dimension %d", w.Name, tensor.FormatShape(w.Shape), from, to, axis)
	}
	shape := slices.Clone(w.Shape)
	shape[axis] = to - from
	return w.part(shape, axis, from, to, dtype)
}

// part decodes runs of elements that are neighbours in the file; to is -1 for all.
func (w *Weight) part(shape []int, axis, from, to int, dtype tensor.DType) (*tensor.Tensor, error) {
	out, err := tensor.Zeros(dtype, shape...)
	if err != nil {
		return nil, fmt.Errorf("weight %s: %w", w.Name, err)
	}
	defer w.file.Drop(w.raw) // the tensor is a copy: without this a rank would hold both
	runs, run, step, first := 1, out.Len(), 0, 0
	if to >= 0 {
		inner := 1
		for _, d := range w.Shape[axis+1:] {
			inner *= d
		}
		run, step, first = (to-from)*inner, w.Shape[axis]*inner, from*inner
		if run > 0 {
			runs = out.Len() / run
		}
	}
	for i := range runs {
		if run == 0 {
			break
		}
		if err := w.decode(out, i*run, first+i*step, run); err != nil {
			return nil, fmt.Errorf("weight %s: %w", w.Name, err)
		}
	}
	return out, nil
}

// decode writes elements start … start+n-1 of the weight to out from at on.
func (w *Weight) decode(out *tensor.Tensor, at, start, n int) error {
	if w.ready != nil {
		for i := range n {
			out.SetElem(at+i, w.ready.Elem(start+i))
		}
		return nil
	}
	if w.raw == nil && w.code.bytes > 0 {
		return errors.New("its file is closed")
	}
	if w.code.block == 1 && w.code.dtype == out.DType() && w.code.exact {
		size := w.code.bytes
		return out.DecodeAt(at, w.raw[start*size:(start+n)*size])
	}
	if !w.code.dtype.IsFloat() {
		for i := range n {
			out.SetElem(at+i, float64(w.code.integer(w.raw[(start+i)*w.code.bytes:])))
		}
		return nil
	}
	return w.decodeFloats(out, at, start, n)
}

// chunk is how many elements are converted at a time.
const chunk = 4096

func (w *Weight) decodeFloats(out *tensor.Tensor, at, start, n int) error {
	buffer := make([]float32, min(chunk, n)+2*w.code.block)
	for done := 0; done < n; done += chunk {
		count := min(chunk, n-done)
		first := (start + done) / w.code.block
		last := (start + done + count + w.code.block - 1) / w.code.block
		w.code.floats(buffer[:(last-first)*w.code.block], w.raw[first*w.code.bytes:last*w.code.bytes])
		part := buffer[start+done-first*w.code.block:][:count]
		if w.code.dtype == tensor.F64 {
			for i := range count {
				out.SetElem(at+done+i, math.Float64frombits(binary.LittleEndian.Uint64(w.raw[(start+done+i)*8:])))
			}
			continue
		}
		writeFloats(out, at+done, part)
	}
	return nil
}

func writeFloats(out *tensor.Tensor, at int, values []float32) {
	switch dtype := out.DType(); dtype {
	case tensor.F32:
		copy(out.Float32()[at:], values)
	case tensor.F16, tensor.BF16:
		tensor.NarrowHalf(dtype, out.Bits16()[at:at+len(values)], values)
	default:
		for i, v := range values {
			out.SetElem(at+i, float64(v))
		}
	}
}
