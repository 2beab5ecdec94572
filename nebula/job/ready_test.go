package job

import (
	"testing"

	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// TestFirstRequest sees that a request of any length finds its programs compiled,
// however its job was started.
func TestFirstRequest(t *testing.T) {
	for _, c := range []struct {
		name  string
		l     shard.Layout
		start func(Spec) serve.Service
	}{
		{"local", shard.Layout{TP: 1, PP: 1}, func(s Spec) serve.Service { return local(t, s) }},
		{"local stages", shard.Layout{TP: 1, PP: 3}, func(s Spec) serve.Service { return local(t, s) }},
		{"processes", shard.Layout{TP: 2, PP: 1}, func(s Spec) serve.Service { return running(t, seeded(t, small), s) }},
		{"processes in stages", shard.Layout{TP: 1, PP: 2}, func(s Spec) serve.Service { return running(t, seeded(t, small), s) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(c.l.TP, c.l.PP)
			s.Chunk = 16
			job := c.start(s)
			before := programs(t, job, c.l)
			for n := 1; n < 60; n += 13 {
				prompt := make([]int32, n)
				for i := range prompt {
					prompt[i] = int32((i + n) % small.Vocab)
				}
				if list, end := generate(t, job, prompt, 3); end.Err != nil || len(list) != 3 {
					t.Fatalf("%d tokens are continued by %v: %+v", n, list, end)
				}
			}
			if after := programs(t, job, c.l); after != before || before == 0 {
				t.Errorf("%d programs were compiled at the start, and %d later", before, after-before)
			}
		})
	}
}

func local(t *testing.T, s Spec) serve.Service {
	t.Helper()
	l, err := Local(t.Context(), seeded(t, small), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// programs counts those of all ranks.
func programs(t *testing.T, s serve.Service, l shard.Layout) (n int) {
	t.Helper()
	for rank := range l.Ranks() {
		d, err := s.Describe(t.Context(), rank)
		if err != nil {
			t.Fatal(err)
		}
		n += len(d.Programs)
	}
	return n
}
