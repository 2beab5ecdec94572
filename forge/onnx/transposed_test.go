package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/tensor"
)

// field is a field of a message in wire format: bytes, a text or a number.
func field[T []byte | string | int](number protowire.Number, value T) []byte {
	if n, ok := any(value).(int); ok {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(n))
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), []byte(fmt.Sprintf("%s", any(value))))
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func floats(name string, t *tensor.Tensor) []byte {
	b := join(field(2, 1), field(8, name))
	for _, d := range t.Shape() {
		b = append(b, field(1, d)...)
	}
	var raw []byte
	for _, v := range t.Float32() {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return append(b, field(9, raw)...)
}

func declared(name string, shape []int) []byte {
	var dims []byte
	for _, d := range shape {
		dims = append(dims, field(1, field(1, d))...)
	}
	return join(field(1, name), field(2, field(1, join(field(1, 1), field(2, dims)))))
}

// transposedModel is ConvTranspose of an input x with constant weights and a bias.
func transposedModel(x []int, w, b *tensor.Tensor, stride []int, groups int) []byte {
	strides := join(field(1, "strides"), field(20, 7))
	for _, s := range stride {
		strides = append(strides, field(8, s)...)
	}
	node := join(field(1, "x"), field(1, "w"), field(1, "b"), field(2, "y"), field(4, "ConvTranspose"),
		field(5, strides), field(5, join(field(1, "group"), field(3, groups), field(20, 2))))
	graph := join(field(1, node), field(2, "g"), field(5, floats("w", w)), field(5, floats("b", b)),
		field(11, declared("x", x)), field(12, declared("y", nil)))
	return join(field(1, 8), field(7, graph), field(8, field(2, 17)))
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
		m, err := Read("transposed.onnx", transposedModel(c.x, list[1], list[2], c.stride, c.groups))
		if err != nil {
			t.Fatal(err)
		}
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
