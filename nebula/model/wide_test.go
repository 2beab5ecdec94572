package model

import (
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// TestSideBySide checks for every place that what is loaded as one tensor has the
// columns of all its parts, bit by bit, and that every parameter is loaded once.
func TestSideBySide(t *testing.T) {
	for _, c := range small() {
		m := seed(t, c)
		for _, place := range (shard.Layout{TP: 2, PP: 2}).Places() {
			params := c.Params(place)
			loaded := 0
			for _, list := range loads(params) {
				loaded += len(list)
				for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
					d := list[0].DType(dtype)
					wide, at := must(m.load(d, list...)), 0
					for _, p := range list {
						if p.DType(dtype) != d {
							t.Fatalf("%s: %s is loaded as %v", c.Family, p.Name, d)
						}
						checkColumns(t, p.Name, wide, must(m.load(d, p)), at)
						at += p.PartShape()[len(p.Shape)-1]
					}
					if at != wide.Dim(-1) {
						t.Errorf("%s: %d of %d columns are those of parameters", list[0].Name, at, wide.Dim(-1))
					}
				}
			}
			if loaded != len(params) {
				t.Errorf("%s: %d of %d parameters are loaded", c.Family, loaded, len(params))
			}
		}
	}
}

func checkColumns(t *testing.T, name string, wide, part *tensor.Tensor, at int) {
	t.Helper()
	n := part.Dim(-1)
	for i := range part.Len() {
		if got, want := wide.Elem(i/n*wide.Dim(-1)+at+i%n), part.Elem(i); got != want {
			t.Fatalf("%s: element %d is %v, not %v", name, i, got, want)
		}
	}
}
