package ir

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// indices lists the storage index of every element in row-major order.
func indices(l Layout, shape []int) []int {
	list := []int{l.Offset}
	for i, d := range shape {
		var next []int
		for _, at := range list {
			for k := range d {
				next = append(next, at+k*l.Strides[i])
			}
		}
		list = next
	}
	return list
}

func TestLayoutReshape(t *testing.T) {
	tests := []struct {
		from    []int
		strides []int
		to      []int
		want    []int // nil: not expressible
	}{
		{[]int{4, 6}, []int{6, 1}, []int{24}, []int{1}},
		{[]int{4, 6}, []int{6, 1}, []int{2, 2, 3, 2}, []int{12, 6, 2, 1}},
		{[]int{4, 6}, []int{1, 4}, []int{24}, nil},
		{[]int{4, 6}, []int{1, 4}, []int{2, 2, 6}, []int{2, 1, 4}},
		{[]int{4, 6}, []int{12, 1}, []int{4, 2, 3}, []int{12, 3, 1}},
		{[]int{4, 6}, []int{0, 0}, []int{24}, []int{0}},
		{[]int{}, []int{}, []int{1, 1}, []int{0, 0}},
		{[]int{1, 5, 1}, []int{7, 2, 9}, []int{5}, []int{2}},
		{[]int{2, 0}, []int{0, 1}, []int{0, 3}, []int{3, 1}},
		{[]int{3, 1}, []int{5, 1}, []int{1, 3, 1}, []int{0, 5, 0}},
	}
	for _, tt := range tests {
		got, ok := Layout{Offset: 3, Strides: tt.strides}.Reshape(tt.from, tt.to)
		if ok != (tt.want != nil) {
			t.Errorf("%v%v -> %v: ok = %v", tt.from, tt.strides, tt.to, ok)
		} else if ok && !got.Equal(Layout{Offset: 3, Strides: tt.want}, tt.to) {
			t.Errorf("%v%v -> %v: %v, want %v", tt.from, tt.strides, tt.to, got.Strides, tt.want)
		}
	}
}

// A reshaped layout names the same indices in the same order, and a layout is
// refused only if no strides fit.
func TestLayoutReshapeKeepsOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dims := []int{1, 2, 3, 4, 6}
	for range 5000 {
		from, to := make([]int, rng.IntN(5)), []int{}
		l := Layout{Offset: rng.IntN(3), Strides: make([]int, len(from))}
		step := 1
		for _, i := range rng.Perm(len(from)) {
			from[i], l.Strides[i] = dims[rng.IntN(len(dims))], step
			step *= from[i] * (1 + rng.IntN(5)/4)
		}
		n := Spec{Shape: from}.Elements()
		for rest := n; rest > 1 || rng.IntN(3) == 0; {
			d := dims[rng.IntN(len(dims))]
			if rest%d == 0 {
				to, rest = append(to, d), rest/d
			}
		}
		want := indices(l, from)
		got, ok := l.Reshape(from, to)
		if ok && !slices.Equal(indices(got, to), want) {
			t.Fatalf("%v of %v -> %v: %v", l, from, to, got)
		}
		if !ok && slices.Equal(indices(stridesOf(want, to), to), want) {
			t.Fatalf("%v of %v -> %v refused, but %v fits", l, from, to, stridesOf(want, to))
		}
		if got := l.Extent(from); got != slices.Max(want)+1 {
			t.Fatalf("extent of %v under %v: %d, want %d", l, from, got, slices.Max(want)+1)
		}
	}
}

// stridesOf reads the only possible strides off a list of indices.
func stridesOf(list, shape []int) Layout {
	l := Layout{Offset: list[0], Strides: make([]int, len(shape))}
	for i, step := range Dense(shape).Strides {
		if shape[i] > 1 {
			l.Strides[i] = list[step] - list[0]
		}
	}
	return l
}
