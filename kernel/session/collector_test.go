package session

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 800, 4 << 20: 800, 16 << 20: 400, 32 << 20: 200, 48 << 20: 133, 64 << 20: 100, 1 << 40: 100} {
		if got := growth(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

// TestPaceCollector follows the heap up and down, and lets a cell's own setting be.
func TestPaceCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(goGrowth)
	defer debug.SetGCPercent(before)
	percent := func() int {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return int(s[0].Value.Uint64())
	}
	becomes := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); percent() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the growth stays %d, want %d", percent(), want)
			}
			runtime.GC()
		}
	}
	paceCollector()
	becomes(mostGrowth)
	large := make([]byte, slack)
	becomes(goGrowth)
	runtime.KeepAlive(large)
	large = nil
	becomes(mostGrowth)
	debug.SetGCPercent(150)
	large = make([]byte, slack)
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	becomes(150)
	runtime.KeepAlive(large)
}
