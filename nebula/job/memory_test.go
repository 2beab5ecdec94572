package job

import (
	"strings"
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// TestFits compares what ranks hold with the memory of a host.
func TestFits(t *testing.T) {
	c, err := model.Shape("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	m := seeded(t, c)
	s := Spec{Layout: shard.Layout{TP: 1, PP: 2}, Engine: engine.Options{Context: 2048, Blocks: 128}}
	first, all := s.Layout.Places()[:1], s.Layout.Places()
	const gib = 1 << 30
	for _, x := range []struct {
		dtype tensor.DType
		most  int64
		ranks []shard.Place
		want  string
	}{
		{tensor.F32, 24 * gib, all, "weights of 29.92 GiB and a cache of 512 MiB, in f32, are more than the memory of this host, 24 GiB"},
		{tensor.F32, 24 * gib, first, ""},
		{tensor.F32, 32 * gib, all, ""},
		{tensor.BF16, 24 * gib, all, ""},
		{tensor.F32, 0, all, ""},
	} {
		s.Engine.DType = x.dtype
		err := s.fits(m, x.most, x.ranks)
		if (err == nil) != (x.want == "") || err != nil && !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%d ranks in %v, %d bytes: %v", len(x.ranks), x.dtype, x.most, err)
		}
	}
}

// TestCheck refuses what no job can be before anything is started.
func TestCheck(t *testing.T) {
	m := tiny(t)
	for want, change := range map[string]func(*Spec){
		"threads of a rank: -1; it must be 1 to":                            func(s *Spec) { s.Threads = -1 },
		"threads of a rank: 100000; it must be 1 to":                        func(s *Spec) { s.Threads = 100000 },
		"the deadline: 1ns; it must be at least 10ms, or 0 for 10s":         func(s *Spec) { s.Deadline = 1 },
		"the deadline: -1s; it must be at least 10ms":                       func(s *Spec) { s.Deadline = -1e9 },
		"the time to assemble: -1ns; it cannot be negative":                 func(s *Spec) { s.Assembly = -1 },
		"the context: 1; it must be 2 to 256, for a token and the next one": func(s *Spec) { s.Engine.Context = 1 },
		"the context: 257; it must be 1 to 256":                             func(s *Spec) { s.Engine.Context = 257 },
		"rows of a step: 5000; it must be 1 to 1024":                        func(s *Spec) { s.Engine.MaxRows = 5000 },
		"TP 5: ":                       func(s *Spec) { s.Layout.TP = 5 },
		`there is no backend "abacus"`: func(s *Spec) { s.Backend = "abacus" },
	} {
		s := spec(2, 1)
		change(&s)
		if err := s.Check(m); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
