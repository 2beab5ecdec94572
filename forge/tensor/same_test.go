package tensor

import (
	"math"
	"testing"
)

func TestSameBits(t *testing.T) {
	of := func(d DType, shape []int, values ...float64) *Tensor {
		x, err := Zeros(d, shape...)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			x.SetElem(i, v)
		}
		return x
	}
	for _, d := range []DType{F32, F64, F16, BF16, I64, I32, Bool} {
		a := of(d, []int{2, 2}, 0, 1, 1, 0)
		for _, c := range []struct {
			b    *Tensor
			want bool
		}{
			{a, true},
			{a.Clone(), true},
			{of(d, []int{2, 2}, 0, 1, 1, 1), false},
			{of(d, []int{4}, 0, 1, 1, 0), false},
		} {
			if got := SameBits(a, c.b); got != c.want {
				t.Errorf("%v and %v: %v", a, c.b, got)
			}
		}
		if d.IsFloat() && (SameBits(a, of(d, []int{2, 2}, math.Copysign(0, -1), 1, 1, 0)) || !SameBits(of(d, []int{1}, math.NaN()), of(d, []int{1}, math.NaN()))) {
			t.Errorf("%v: 0 is not -0, and a NaN has the bits of itself", d)
		}
	}
	if SameBits(of(F32, []int{1}), of(I32, []int{1})) {
		t.Error("f32 is i32")
	}
}
