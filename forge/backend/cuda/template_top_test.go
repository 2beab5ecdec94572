package cuda

import (
	"fmt"
	"math"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

// TestLeading compares the leading elements of long and short rows with the interpreter's:
// equal ones, infinities and numbers that are none are among them.
func TestLeading(t *testing.T) {
	b := device(t)
	for _, c := range []struct{ rows, count, k int }{{1, 128256, 2}, {3, 5000, 2}, {2, 7, 3}, {5, 2049, 8}, {1, 1, 1}, {64, 32000, 1}} {
		source := fmt.Sprintf("graph f(%%x: f32[%[1]d,%[2]d]) {\n %%y: f32[%[1]d,%[3]d], %%i: i64[%[1]d,%[3]d] = top_k %%x {k = %[3]d}\n return %%y, %%i\n}", c.rows, c.count, c.k)
		g := parse(t, source)
		exe, err := b.Compile(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		reference, err := interp.New().Compile(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		for seed, special := range [][]float64{nil, {9, 9, 9}, {math.NaN(), math.Inf(1), math.NaN()}, {math.Inf(-1)}} {
			x, err := tensor.Randn(uint64(seed), c.rows, c.count)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range special {
				x.SetElem((i*7919+c.count/2)%x.Len(), v)
			}
			for range 2 { // counters are as they were
				got, err := exe.Run(t.Context(), x)
				if err != nil {
					t.Fatal(err)
				}
				want, err := reference.Run(t.Context(), x)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got[0].Float32()) != fmt.Sprint(want[0].Float32()) || !tensor.Identical(got[1], want[1]) {
					t.Errorf("%+v with %v: %v %v, want %v %v", c, special, got[0].Float32(), got[1].Int64(), want[0].Float32(), want[1].Int64())
				}
			}
		}
	}
}
