package model

import (
	"fmt"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// The parts of a layer whose linear layers read the same value. They are one product,
// with a matrix in which theirs are side by side: a step of few rows reads its weights in
// fewer and longer runs. The matrix is loaded as such, so that all programs share it and
// nobody holds the parts.
var (
	attentionQKV = []string{attentionQ, attentionK, attentionV}
	ffGateUp     = []string{ffGate, ffUp}
)

// loads are the parameters of a place in lists that are loaded as one tensor each.
func loads(params []Param) [][]Param {
	var lists [][]Param
	at := make(map[string]int) // of a list
	for _, p := range params {
		l, part, ok := cutLayer(p.Name)
		group := -1
		for i, parts := range [][]string{attentionQKV, ffGateUp} {
			for _, name := range parts {
				if ok && strings.TrimSuffix(strings.TrimSuffix(part, weight), bias) == name {
					group = i
				}
			}
		}
		key := fmt.Sprint(l, group, p.Kind)
		if i, known := at[key]; known && group >= 0 {
			lists[i] = append(lists[i], p)
			continue
		}
		at[key] = len(lists)
		lists = append(lists, []Param{p})
	}
	return lists
}

// beside are linear layers of which this rank has some output channels, as columns is
// one. Those of a layer have all a bias or none.
func (g *grapher) beside(l int, x *ir.Value, parts []string) []*ir.Value {
	var matrices, biases []Param
	for _, part := range parts {
		matrices = append(matrices, g.params[layerName(l, part)+weight])
		if b, ok := g.params[layerName(l, part)+bias]; ok {
			biases = append(biases, b)
		}
	}
	in := []*ir.Value{x, g.cast(g.constant(g.m.load(g.f.DType, matrices...)), tensor.F32)}
	if biases != nil {
		in = append(in, g.constant(g.m.load(tensor.F32, biases...)))
	}
	wide := g.apply("linear", nil, in...)
	list := make([]*ir.Value, len(parts))
	start := 0
	for i, p := range matrices {
		n := p.PartShape()[1]
		list[i] = g.apply("narrow", ir.Attrs{"axis": -1, "start": start, "length": n}, wide)
		start += n
	}
	return list
}

// sideBySide joins tensors along their last dimension. They must be of one type, and
// of one shape before it.
func sideBySide(list []*tensor.Tensor) (*tensor.Tensor, error) {
	shape := list[0].Shape()
	last := len(shape) - 1
	for _, t := range list[1:] {
		shape[last] += t.Dim(-1)
	}
	out, err := tensor.Zeros(list[0].DType(), shape...)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, t := range list {
		if out.DType() == tensor.F32 {
			copyColumns(out.Float32()[at:], t.Float32(), shape[last], t.Dim(-1))
		} else {
			copyColumns(out.Bits16()[at:], t.Bits16(), shape[last], t.Dim(-1))
		}
		at += t.Dim(-1)
	}
	return out, nil
}

func copyColumns[T any](dst, src []T, wide, narrow int) {
	for r := 0; r*narrow < len(src); r++ {
		copy(dst[r*wide:], src[r*narrow:][:narrow])
	}
}
