package engine

import (
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/nebula/shard"
)

// TestDevices keeps the cache of each rank on a device of its own, and compares with the
// reference. Closing the engine gives all of it back.
func TestDevices(t *testing.T) {
	c := llamaConfig()
	m := seeded(t, c)
	ref := reference(t, m)
	for _, layout := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 2}} {
		t.Run(layout.String(), func(t *testing.T) {
			var devices []backend.Backend
			for range layout.Ranks() {
				devices = append(devices, conformance.OnHost(single()))
			}
			before := roomOf(t, devices)
			l, err := Local(t.Context(), m, layout, LocalOptions{Options: Options{BlockSize: 4, MaxTokens: 24, MaxRows: 5}, Backends: devices})
			if err != nil {
				t.Fatal(err)
			}
			gate := Gate{Tokens: 4, Tolerance: 1e-5, Prompts: [][]int32{prompt(0, 1, c.Vocab), prompt(1, 17, c.Vocab), prompt(2, 30, c.Vocab)}}
			if _, err := gate.Check(t.Context(), l, ref); err != nil {
				t.Error(err)
			}
			d, err := l.Describe(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if taken := before - roomOf(t, devices); taken != d.KVHeld*int64(layout.Ranks()) || d.KVPlanned != d.KVHeld {
				t.Errorf("%d bytes are taken; each rank says %d held, %d planned", taken, d.KVHeld, d.KVPlanned)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if after := roomOf(t, devices); after != before {
				t.Errorf("%d bytes are free at the end, %d were at first", after, before)
			}
		})
	}
}

func roomOf(t *testing.T, devices []backend.Backend) (sum int64) {
	t.Helper()
	for _, d := range devices {
		free, _, err := d.(backend.Resident).Room(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum += free
	}
	return sum
}

// TestFit sees that the cache is no larger than the device has room for, and that one
// which cannot hold a request is refused.
func TestFit(t *testing.T) {
	m := seeded(t, llamaConfig())
	device := conformance.OnHost(single())
	l := local(t, m, 1, 1, LocalOptions{Options: Options{BlockSize: 4}, Backend: device})
	if n := l.Info().Blocks; n != defaultRequests*l.self.sizes.width() {
		t.Errorf("%d blocks", n)
	}
	r := &rank{model: m, backend: device, place: shard.Single(), sizes: Options{}.sizes(shard.Layout{TP: 1, PP: 1}, m.Config)}
	n, err := r.fit(1 << 30)
	if err != nil || n < 1000 || n > 1<<24 {
		t.Errorf("%d blocks fit: %v", n, err)
	}
	r.sizes.context = 1 << 28
	if _, err := r.fit(1 << 30); err == nil || !strings.Contains(err.Error(), "ask for a shorter context") {
		t.Errorf("error %v", err)
	}
}
