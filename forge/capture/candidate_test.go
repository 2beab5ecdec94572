package capture

import (
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

// Runs on a backend give results that later runs leave alone, also where those
// write into tensors of their own, and it is known what was compiled before.
func TestOnBackend(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	s := subject(t, "layer")
	want, err := reference(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		on      backend.Backend
		repeats bool
		first   CacheState
		second  CacheState
	}{{interp.New(), false, NoCache, NoCache}, {cpu.New(), true, Miss, Hit}} {
		var p Prepared
		for _, state := range []CacheState{c.first, c.second} {
			if p, err = OnBackend(c.on, Optimised, 1).Prepare(t.Context(), s); err != nil || p.Cache != state {
				t.Fatalf("%s: cache %s, want %s; %v", c.on.Name(), p.Cache, state, err)
			}
		}
		got, err := p.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept := got[0].Clone()
		again, ok := p.Runner.(Repeater)
		if ok != c.repeats {
			t.Errorf("%s repeats: %v", c.on.Name(), ok)
		}
		s.Inputs[0].SetElem(0, s.Inputs[0].Elem(0)+1)
		if ok {
			if err := again.Repeat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.Inputs[0].SetElem(0, s.Inputs[0].Elem(0)-1)
		if !tensor.Identical(got[0], kept) {
			t.Errorf("%s: a later run wrote to the results", c.on.Name())
		}
		if g, err := NewGate(s.Written.Outputs, got, want); err != nil || !g.Passed() {
			t.Errorf("%s: %+v, %v", c.on.Name(), g, err)
		}
	}
}
