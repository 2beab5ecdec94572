package cpu_test

import (
	"testing"
	"time"
)

// TestStream sees that a stream moves the bytes that it says, whatever the size.
func TestStream(t *testing.T) {
	s, err := single().NewStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Run(); got != 128<<20 {
		t.Errorf("a run reads %g bytes", got)
	}
	for _, size := range []int{1, 24 << 10, 512 << 10, 16 << 20} {
		for name, run := range map[string]func(int) float64{"read": s.Read, "add": s.Add} {
			start := time.Now()
			moved := run(size)
			t.Logf("%s of %d bytes: %.4g GB/s", name, size, moved/float64(time.Since(start).Nanoseconds()))
			if moved < 3<<20 || moved > 17<<20 {
				t.Errorf("%s of %d bytes moved %g", name, size, moved)
			}
		}
	}
}
