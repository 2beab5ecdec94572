package model

import (
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
	"forgekernel/forge/weights"
	"forgekernel/nebula/shard"
)

// naming is how a format names the parameters of a family and lays them out.
type naming struct {
	layer string            // the beginning of a layer's names: "blk.%d."
	parts map[string]string // "attention.q" -> "attn_q"
	// fused parts are one third each of the output channels of one tensor.
	fused map[string]int
	// rows says that linear layers, but for the head, are stored as [in, out], not
	// [out, in].
	rows bool
	// other are the ends of names of tensors that are no parameters.
	other []string
}

// stored is where a parameter is in a checkpoint.
type stored struct {
	tensor     string
	transposed bool
	third      int // of the output channels; -1 for all
}

// find is the place of a parameter.
func (n *naming) find(p Param) stored {
	name := p.Name
	s := stored{transposed: p.Kind == Matrix && (!n.rows || name == head+weight), third: -1}
	part, suffix := name, weight
	for _, end := range []string{weight, bias} {
		if cut, ok := strings.CutSuffix(name, end); ok {
			part, suffix = cut, end
		}
	}
	prefix := ""
	if l, rest, ok := cutLayer(part); ok {
		prefix, part = fmt.Sprintf(n.layer, l), rest
	}
	if third, ok := n.fused[part]; ok {
		s.third = third
	}
	s.tensor = prefix + n.parts[part] + suffix
	return s
}

// cutLayer splits what [layerName] made, without the suffix.
func cutLayer(name string) (l int, part string, ok bool) {
	if _, err := fmt.Sscanf(name, "layers.%d.", &l); err != nil {
		return 0, "", false
	}
	return l, strings.TrimPrefix(name, layerName(l, "")), true
}

// checkpoint is a file of weights as a source.
type checkpoint struct {
	file   *weights.File
	naming *naming
}

func (c *checkpoint) Close() error { return c.file.Close() }

// check compares the file with a configuration: every parameter is there in its
// shape, and there is no tensor beside them, which would have a meaning that the
// family does not know.
func (c *checkpoint) check(config Config) error {
	known := make(map[string]bool)
	for _, p := range config.Params(shard.Single()) {
		s := c.naming.find(p)
		known[s.tensor] = true
		w, err := c.file.Weight(s.tensor)
		if err != nil {
			return fmt.Errorf("%w, which is %s %s", err, p.Name, tensor.FormatShape(p.Shape))
		}
		if want := s.shape(p); !tensor.ShapeEqual(w.Shape, want) {
			return fmt.Errorf("weight %q has shape %s; %s of this configuration needs %s",
				s.tensor, tensor.FormatShape(w.Shape), p.Name, tensor.FormatShape(want))
		}
		if !w.DType().IsFloat() {
			return fmt.Errorf("weight %q has element type %s, not a float", s.tensor, w.Type)
		}
	}
	for _, w := range c.file.Weights() {
		if !known[w.Name] && !c.naming.ignores(w.Name, config) {
			return fmt.Errorf("weight %q %s has no place in a %s decoder of this configuration", w.Name, tensor.FormatShape(w.Shape), config.Family)
		}
	}
	return nil
}

// ignores reports whether a tensor is none of the parameters on purpose: a
// buffer, or a copy of the embedding for a tied head.
func (n *naming) ignores(name string, c Config) bool {
	if c.Tied && name == n.parts[head]+weight {
		return true
	}
	for _, end := range n.other {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// shape is that of the tensor which holds a parameter.
func (s stored) shape(p Param) []int {
	shape := append([]int(nil), p.Shape...)
	if s.third >= 0 {
		shape[len(shape)-1] *= 3
	}
	if s.transposed {
		shape[0], shape[1] = shape[1], shape[0]
	}
	return shape
}

func (c *checkpoint) read(p Param, dtype tensor.DType) (*tensor.Tensor, error) {
	s := c.naming.find(p)
	w, err := c.file.Weight(s.tensor)
	if err != nil {
		return nil, err
	}
	axis, from, to := p.Axis, p.From, p.To
	if s.third >= 0 { // parts of these are divided by output channel
		begin := s.third * p.Shape[axis]
		from, to = begin+from, begin+to
	}
	if axis < 0 {
		return w.Load(dtype)
	}
	if !s.transposed {
		return w.LoadPart(axis, from, to, dtype)
	}
	return transposed(w, 1-axis, from, to, dtype)
}

// transposed loads a part of a matrix and turns it.
func transposed(w *weights.Weight, axis, from, to int, dtype tensor.DType) (*tensor.Tensor, error) {
	shape := []int{w.Shape[1], w.Shape[0]}
	shape[1-axis] = to - from
	out, err := tensor.Zeros(dtype, shape...)
	if err != nil {
		return nil, err
	}
	if axis == 1 {
		lines, err := w.LoadPart(1, from, to, dtype)
		if err == nil {
			turn(out, lines, 0)
		}
		return out, err
	}
	for at := from; at < to; at += slab {
		lines, err := w.LoadPart(0, at, min(at+slab, to), dtype)
		if err != nil {
			return nil, err
		}
		turn(out, lines, at-from)
	}
	return out, nil
}

const (
	slab  = 256 // lines of a matrix that are held twice while it is turned
	block = 32  // side of the squares that turn at a time, so that both sides stay in cache
)

// turn makes the lines of src columns of dst, from column at on.
func turn(dst, src *tensor.Tensor, at int) {
	if dst.DType() == tensor.F32 {
		turnSquares(dst.Float32()[at:], src.Float32(), dst.Dim(1), src.Dim(0), src.Dim(1))
		return
	}
	turnSquares(dst.Bits16()[at:], src.Bits16(), dst.Dim(1), src.Dim(0), src.Dim(1))
}

func turnSquares[T any](dst, src []T, width, rows, cols int) {
	for r0 := 0; r0 < rows; r0 += block {
		for c0 := 0; c0 < cols; c0 += block {
			for r := r0; r < min(r0+block, rows); r++ {
				for c := c0; c < min(c0+block, cols); c++ {
					dst[c*width+r] = src[r*cols+c]
				}
			}
		}
	}
}
