package job

import (
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/nebula/shard"
)

// TestDevices sees that a job on GPUs is refused where there are not as many as ranks,
// with the reason.
func TestDevices(t *testing.T) {
	found := forge.Devices()
	s := Spec{Backend: "cuda", Layout: shard.Layout{TP: len(found.Devices) + 1, PP: 1}}
	_, err := s.backends(1)
	want := "each rank has a GPU of its own, rank 0 the first"
	if len(found.Missing) > 0 {
		want = "ranks cannot run on GPUs: " + found.Missing[0].Error()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestEnough counts the ranks of replicas that come before.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		devices, ranks int
		refused        bool
	}{{2, 2, false}, {2, 4, true}, {0, 1, true}} {
		if err := enough(c.devices, c.ranks); (err != nil) != c.refused {
			t.Errorf("%d devices for %d ranks: %v", c.devices, c.ranks, err)
		}
	}
}
