package gocell

import (
	"fmt"
	"math"
	"testing"
)

// What a float out of range becomes is not specified; cells get what compiled code
// gets on this machine.
func TestFloatsOutOfRange(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for _, f := range []float64{3e9 + 1, -1, -3e9, 1e10, 1e19, -1e19, 1e300, 70000.5, math.Inf(1), math.Inf(-1), math.NaN()} {
		got := mustRun(t, s, fmt.Sprintf("f := math.Float64frombits(%d)\n", math.Float64bits(f))+
			"fmt.Sprint(int8(f), int16(f), int32(f), int64(f), int(f), uint8(f), uint16(f), uint32(f), uint64(f), uint(f), uintptr(f), int32(float32(f)))")
		want := fmt.Sprint(int8(f), int16(f), int32(f), int64(f), int(f), uint8(f), uint16(f), uint32(f), uint64(f), uint(f), uintptr(f), int32(float32(f)))
		if got != want {
			t.Errorf("%g becomes %s, want %s", f, got, want)
		}
	}
}
