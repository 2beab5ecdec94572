package cuda

import (
	"testing"

	"forgekernel/forge/tensor"
)

// TestLimits measures a device, and sees that what it says can be true of one.
func TestLimits(t *testing.T) {
	b := device(t)
	l, err := b.Limits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.4g GB/s, %+v", l.Copy/1e9, l.Rates)
	if l.Copy <= 0 || len(l.Rates) < 2 {
		t.Errorf("limits %+v", l)
	}
	for _, r := range l.Rates {
		if r.FLOPs <= 0 || r.By == "" {
			t.Errorf("rate %+v", r)
		}
	}
	if got := l.Of(tensor.F64); got.DType != tensor.F32 {
		t.Errorf("the rate of a type that was not measured is that of %v", got.DType)
	}
}
