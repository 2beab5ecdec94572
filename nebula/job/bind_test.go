package job

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/launch"
)

// Ranks that compute with all processors have none of them in
// common.
func TestRanksHaveProcessors(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	n := all.Count()
	if own := launch.CoresHere(os.DirFS("/")).Own; n < 2 || own != n {
		t.Skipf("of %d processors %d may be used", n, own)
	}
	s := spec(2, 1)
	s.Threads = n / 2
	p := running(t, tiny(t), s)
	var sets [2]unix.CPUSet
	for rank := range sets {
		if err := unix.SchedGetaffinity(p.Ranks().Process(rank).PID, &sets[rank]); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := sets[0].Count(), sets[1].Count(); a != n/2 || a+b != n {
		t.Errorf("of %d processors the ranks have %d and %d", n, a, b)
	}
	for cpu := range 64 * len(all) {
		if sets[0].IsSet(cpu) && sets[1].IsSet(cpu) {
			t.Errorf("both ranks have processor %d", cpu)
		}
	}
}
