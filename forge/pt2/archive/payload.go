package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"forgekernel/forge/tensor"
)

// FreeBytes is what the tensors of a file may have beyond twice its size. A view may
// repeat elements, so that a small file could ask for any memory.
const FreeBytes = 64 << 20

// Payload is a tensor of the archive: a view of a record.
type Payload struct {
	name, path string
	Meta       *Meta
	raw        []byte
}

// Key is equal for payloads that are the same tensor, as tied weights are.
func (p *Payload) Key() string {
	return fmt.Sprint(p.path, p.Meta.DType, p.Meta.Sizes, p.Meta.Strides, p.Meta.Offset)
}

// payloadMeta is an entry of the table of payloads.
type payloadMeta struct {
	Path   string `json:"path_name"`
	Pickle bool   `json:"use_pickle"`
	Meta   *Meta  `json:"tensor_meta"`
}

// readPayloads reads the table of the weights or the constants.
func (a *Archive) readPayloads(kind string) (map[string]*Payload, error) {
	folder := "data/" + kind + "/"
	table := folder + a.Model + "_" + kind + "_config.json"
	raw, ok := a.records[table]
	if !ok {
		if a.records[folder+a.Model+".pt"] != nil {
			return nil, fmt.Errorf("the file was written by PyTorch 2.8, with its %s pickled: %s", kind, again)
		}
		return nil, nil
	}
	if err := checkJSON(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	var config struct {
		Config map[string]*payloadMeta `json:"config"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	list := make(map[string]*Payload, len(config.Config))
	for _, name := range slices.Sorted(maps.Keys(config.Config)) {
		m := config.Config[name]
		switch {
		case m == nil:
			return nil, fmt.Errorf("%s: %q is null", table, name)
		case m.Pickle || m.Meta == nil:
			return nil, fmt.Errorf("%q is a pickled object, which is never read: make it a plain tensor or remove it from the module", name)
		}
		content, ok := a.records[folder+m.Path]
		if !ok {
			return nil, fmt.Errorf("%q: there is no record %s%s", name, folder, m.Path)
		}
		p := &Payload{name: name, path: folder + m.Path, Meta: m.Meta, raw: content}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		list[name] = p
	}
	return list, checkAliases(list)
}

// checkAliases refuses different views of one record of which none says where it
// begins: some releases wrote 0 whatever the view's place was. Views of the whole
// record do begin there.
func checkAliases(list map[string]*Payload) error {
	shared := make(map[string][]*Payload)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		shared[p.path] = append(shared[p.path], p)
	}
	for _, path := range slices.Sorted(maps.Keys(shared)) {
		var parts []string
		different, placed := false, false
		for _, p := range shared[path] {
			placed = placed || p.Meta.Offset.Int != 0
			different = different || p.Key() != shared[path][0].Key()
			if n, err := p.elements(); err == nil && n < len(p.raw)/max(1, p.Meta.DType.Width()) {
				parts = append(parts, p.name)
			}
		}
		if different && !placed && len(parts) > 0 {
			return fmt.Errorf("%s are views of one storage, and the file does not say where in it they begin: clone them before exporting, or %s", strings.Join(parts, ", "), again)
		}
	}
	return nil
}

func (p *Payload) elements() (int, error) { return tensor.Elements(p.shape()) }

// shape is the shape, which check has checked.
func (p *Payload) shape() []int {
	shape := make([]int, len(p.Meta.Sizes))
	for i, s := range p.Meta.Sizes {
		shape[i] = int(s.Int)
	}
	return shape
}

// check holds the view against its record.
func (p *Payload) check() error {
	m := p.Meta
	if m.Layout != Strided {
		return fmt.Errorf("layout %d is not supported; strided tensors are: call to_dense() before exporting", m.Layout)
	}
	if !m.DType.Supported() {
		return fmt.Errorf("elements of type %v are not supported", m.DType)
	}
	if len(m.Strides) != len(m.Sizes) {
		return fmt.Errorf("it has %d sizes and %d strides", len(m.Sizes), len(m.Strides))
	}
	for _, s := range append(slices.Concat(m.Sizes, m.Strides), m.Offset) {
		if s.Expr != "" || s.Int < 0 || s.Int > math.MaxInt32*int64(math.MaxInt32) {
			return fmt.Errorf("sizes, strides and offset must be numbers that are not negative; one is %d%s", s.Int, s.Expr)
		}
	}
	for _, s := range m.Sizes {
		if s.Int > math.MaxInt32 {
			return fmt.Errorf("%d is no size", s.Int)
		}
	}
	n, err := p.elements()
	if err != nil {
		return err
	}
	width := m.DType.Width()
	if len(p.raw)%width != 0 {
		return fmt.Errorf("its record has %d bytes, which are no whole number of %v", len(p.raw), m.DType)
	}
	stored := int64(len(p.raw) / width)
	if n == 0 || stored == 0 { // an empty record stands for zeros
		return nil
	}
	last := m.Offset.Int
	for i, s := range m.Sizes {
		if s.Int > 1 && m.Strides[i].Int > stored || last > stored {
			last = stored
			break
		}
		last += (s.Int - 1) * m.Strides[i].Int // both below 2^32
	}
	if last >= stored {
		return fmt.Errorf("it reaches beyond the %d elements of its record", stored)
	}
	return nil
}

// Weight is a parameter or a persistent buffer, Constant any other tensor; nil when
// there is none of that name.
func (a *Archive) Weight(name string) *Payload   { return a.weights[name] }
func (a *Archive) Constant(name string) *Payload { return a.constants[name] }

// Budget bounds the bytes of the tensors that an import makes of the file.
func (a *Archive) Budget() int64 { return a.budget }

// Bytes is the size of the tensor, as it is held.
func (p *Payload) Bytes() int64 {
	n, _ := p.elements()
	return int64(n) * int64(p.Meta.DType.Held().Size())
}

// Tensor makes the tensor, dense whatever its strides are.
func (p *Payload) Tensor() (*tensor.Tensor, error) {
	shape := p.shape()
	if len(p.raw) == 0 {
		return tensor.Zeros(p.Meta.DType.Held(), shape...)
	}
	return p.Meta.DType.decode(shape, p.dense(shape))
}

// dense is the bytes of the elements in row-major order.
func (p *Payload) dense(shape []int) []byte {
	width, offset := p.Meta.DType.Width(), int(p.Meta.Offset.Int)
	n, _ := p.elements() // checked
	if n == 0 {
		return nil
	}
	contiguous := true
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		contiguous = contiguous && (shape[i] == 1 || int(p.Meta.Strides[i].Int) == step)
		step *= shape[i]
	}
	if contiguous {
		return p.raw[offset*width : (offset+n)*width]
	}
	out := make([]byte, 0, n*width)
	index := make([]int, len(shape))
	for at := offset; ; {
		out = append(out, p.raw[at*width:(at+1)*width]...)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			at += int(p.Meta.Strides[d].Int)
			if index[d]++; index[d] < shape[d] {
				break
			}
			at -= shape[d] * int(p.Meta.Strides[d].Int)
			index[d] = 0
		}
		if d < 0 {
			return out
		}
	}
}

var errWide = errors.New("a uint64 is beyond int64")
