package engine

import (
	"slices"
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
			logits := int64(0) // which stay there, too
			for _, p := range d.Programs {
				if p.Logits {
					logits += int64(4 * p.Rows * c.Vocab * layout.TP)
				}
			}
			if taken := before - roomOf(t, devices); taken != d.KVHeld*int64(layout.Ranks())+logits || d.KVPlanned != d.KVHeld {
				t.Errorf("%d bytes are taken; each rank says %d held, %d planned, and logits have %d", taken, d.KVHeld, d.KVPlanned, logits)
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

// TestLeads decodes where a device finds the leads of logits, beside rows that ask for all.
func TestLeads(t *testing.T) {
	c := llamaConfig()
	m := seeded(t, c)
	const tokens = 5
	for _, layout := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 2}, {TP: 2, PP: 2}} {
		t.Run(layout.String(), func(t *testing.T) {
			var devices []backend.Backend
			for range layout.Ranks() {
				devices = append(devices, conformance.OnHost(single()))
			}
			l, err := Local(t.Context(), m, layout, LocalOptions{Options: Options{BlockSize: 4, MaxTokens: 24, MaxRows: 5}, Backends: devices})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			led, whole := prompt(0, 3, c.Vocab), prompt(0, 3, c.Vocab)
			blocks := [][]int32{{0, 1, 2}, {3, 4, 5}}
			for at := 0; at < 3+tokens; at = len(led) - 1 {
				step := Step{[]Row{
					{Request: 1, Tokens: led[at:], Pos: at, Blocks: blocks[0], Logits: true, Lead: true},
					{Request: 2, Tokens: whole[at:], Pos: at, Blocks: blocks[1], Logits: true},
				}}
				if len(led) > 5 {
					step.Rows = step.Rows[:1] // of rows that all have leads no logits come
				}
				ticket, err := l.Submit(t.Context(), step)
				if err != nil {
					t.Fatal(err)
				}
				r, err := l.Wait(t.Context(), ticket)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Leads) != len(step.Rows) || len(step.Rows) == 1 && r.Logits[0] != nil {
					t.Fatalf("%d leads of %d rows; logits %v", len(r.Leads), len(step.Rows), r.Logits[0] != nil)
				}
				led = append(led, r.Leads[0].Token)
				if len(step.Rows) > 1 {
					want := Argmax(r.Logits[1])
					if l := r.Leads[0]; l != r.Leads[1] || l.Token != want || l.First != r.Logits[1][want] || !(l.Second <= l.First) {
						t.Errorf("leads %+v, logits have %d: %v", r.Leads, want, r.Logits[1][want])
					}
					whole = append(whole, want)
				} else {
					whole = append(whole, r.Leads[0].Token)
				}
				r.Reuse()
			}
			want, err := reference(t, m).Greedy(t.Context(), led[:3], tokens)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(led[3:3+tokens], want.Tokens) {
				t.Errorf("tokens %v, want %v", led[3:], want.Tokens)
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
