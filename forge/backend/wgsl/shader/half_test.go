package shader

import (
	"math"
	"testing"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// TestHalfBits goes through all f16 numbers.
func TestHalfBits(t *testing.T) {
	for h := range 1 << 16 {
		v := check.HalfValue(uint16(h))
		if v != v {
			if back := check.HalfBits(v); back&0x7c00 != 0x7c00 || back&0x3ff == 0 {
				t.Fatalf("NaN %#x becomes %#x", h, back)
			}
			continue
		}
		if back := check.HalfBits(v); back != uint16(h) {
			t.Fatalf("%#x is %g, which is %#x", h, v, back)
		}
	}
}

// TestRoundHalf compares rounding in bits with rounding by quanta, at all f16
// numbers, between them, and just beside what is between.
func TestRoundHalf(t *testing.T) {
	for h := range 1<<15 - 1 {
		a, b := check.HalfValue(uint16(h)), check.HalfValue(uint16(h+1))
		mid := a + (b-a)/2
		for _, v := range []float32{a, mid, math.Nextafter32(mid, 0), math.Nextafter32(mid, math.MaxFloat32), -mid, -a, 70000, 65519.996, 65520} {
			got, want := roundHalf(v), float32(check.RoundF16(float64(v)))
			if math.Float32bits(got) != math.Float32bits(want) && !(got != got && want != want) {
				t.Fatalf("%g becomes %g, want %g", v, got, want)
			}
		}
	}
}
