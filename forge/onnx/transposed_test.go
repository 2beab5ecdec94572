package onnx

import (
	"math"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// transposedModel is ConvTranspose of an input x with constant weights and a bias.
func transposedModel(x []int, w, b *tensor.Tensor, stride []int, groups int) *proto.Model {
	constant := func(name string, t *tensor.Tensor) *proto.Tensor {
		c := floats(name, t.Float32()...)
		c.Dims = wide(t.Shape())
		return c
	}
	return modelOf(17, &proto.Graph{
		Nodes: []*proto.Node{node("ConvTranspose", names("x", "w", "b"), names("y"),
			intsAttr("strides", wide(stride)...), intAttr("group", int64(groups)))},
		Initializers: []*proto.Tensor{constant("w", w), constant("b", b)},
		Inputs:       []*proto.ValueInfo{info("x", proto.Float, wide(x)...)},
		Outputs:      untyped("y"),
	})
}

func wide(list []int) []int64 {
	var all []int64
	for _, n := range list {
		all = append(all, int64(n))
	}
	return all
}

// scattered is the definition: every element of x adds its multiple of the kernel.
func scattered(x, w, b *tensor.Tensor, stride []int, groups int, shape []int) []float64 {
	xs, ws := x.Shape(), w.Shape()
	y := make([]float64, shape[0]*shape[1]*shape[2]*shape[3])
	for i := range y {
		y[i] = b.Elem(i / (shape[2] * shape[3]) % shape[1])
	}
	for i := range x.Len() {
		n, c, h, v := i/(xs[1]*xs[2]*xs[3]), i/(xs[2]*xs[3])%xs[1], i/xs[3]%xs[2], i%xs[3]
		for j := range ws[1] * ws[2] * ws[3] {
			o, k, l := j/(ws[2]*ws[3]), j/ws[3]%ws[2], j%ws[3]
			o += c / (xs[1] / groups) * ws[1]
			at := ((n*shape[1]+o)*shape[2]+h*stride[0]+k)*shape[3] + v*stride[1] + l
			y[at] += x.Elem(i) * w.Elem(c*ws[1]*ws[2]*ws[3]+j)
		}
	}
	return y
}

// TestTransposedConvolutions compares them with the definition, with tiles that lie
// side by side and with others.
func TestTransposedConvolutions(t *testing.T) {
	for _, c := range []struct {
		x, w   []int // weights: channels of the image, channels of the result in a group, kernel
		stride []int
		groups int
	}{
		{[]int{2, 3, 4, 5}, []int{3, 4, 2, 3}, []int{2, 3}, 1},
		{[]int{1, 3, 1, 7}, []int{3, 2, 1, 4}, []int{1, 4}, 1},
		{[]int{1, 4, 3, 2}, []int{4, 1, 2, 2}, []int{2, 2}, 2},
		{[]int{1, 2, 3, 4}, []int{2, 3, 3, 3}, []int{2, 2}, 1},
		{[]int{1, 2, 3, 4}, []int{2, 3, 2, 2}, []int{3, 2}, 1},
	} {
		var list []*tensor.Tensor
		for i, s := range [][]int{c.x, c.w, {c.w[1] * c.groups}} {
			v, err := tensor.Rand(uint64(i+1), s...)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		m := read(t, transposedModel(c.x, list[1], list[2], c.stride, c.groups))
		p, err := m.Graph(t.Context(), importer.Binding{})
		if err != nil {
			t.Fatal(err)
		}
		exe, err := interp.New().Compile(t.Context(), p.Graph)
		if err != nil {
			t.Fatal(err)
		}
		got, err := exe.Run(t.Context(), list[0])
		if err != nil {
			t.Fatal(err)
		}
		shape := []int{c.x[0], c.w[1] * c.groups, (c.x[2]-1)*c.stride[0] + c.w[2], (c.x[3]-1)*c.stride[1] + c.w[3]}
		if !tensor.ShapeEqual(got[0].Shape(), shape) {
			t.Errorf("%v: the result is %v, want %v", c, got[0].Shape(), shape)
			continue
		}
		for i, want := range scattered(list[0], list[1], list[2], c.stride, c.groups, shape) {
			if math.Abs(got[0].Elem(i)-want) > 1e-5 {
				t.Errorf("%v: element %d is %v, want %v", c, i, got[0].Elem(i), want)
				break
			}
		}
	}
}
