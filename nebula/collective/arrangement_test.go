package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"forgekernel/nebula/mesh"
)

// arrangement is a way to have the groups of n ranks in this process.
type arrangement struct {
	name string
	make func(t testing.TB, n int, o Options) []Group
}

var arrangements = []arrangement{
	{"local", func(t testing.TB, n int, o Options) []Group { return closing(t, Local(n, o)) }},
	{"shared", func(t testing.TB, n int, o Options) []Group { return overMesh(t, n, o, func(int) string { return "" }) }},
	{"streams", func(t testing.TB, n int, o Options) []Group {
		return overMesh(t, n, o, func(rank int) string { return fmt.Sprint("host ", rank) })
	}},
	{"mixed", func(t testing.TB, n int, o Options) []Group { // ranks 0 and 1 on one host
		return overMesh(t, n, o, func(rank int) string { return fmt.Sprint("host ", (rank+2)/3) })
	}},
}

// jobs counts the jobs of this test process.
var jobs atomic.Int32

// overMesh is groups over meshes, with ranks on the hosts that are given; an empty
// one is this host. Timeouts are for calls alone: on a busy machine it takes longer to
// meet than they are.
func overMesh(t testing.TB, n int, o Options, host func(rank int) string) []Group {
	t.Helper()
	job := fmt.Sprintf("%s/%d/%d", t.Name(), os.Getpid(), jobs.Add(1))
	groups, meshes, errs := make([]Group, n), make([]*mesh.Mesh, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c := mesh.Config{Job: job, Token: []byte("test"), Epoch: 5, Rank: i, Size: n, Host: host(i), Logf: t.Logf}
			if c.Host != "" {
				c.Address = "127.0.0.1"
			}
			ctx, cancel := context.WithTimeout(context.Background(), enough)
			defer cancel()
			if meshes[i], errs[i] = mesh.Join(ctx, c); errs[i] == nil {
				groups[i], errs[i] = Over(meshes[i], Options{Buffer: o.Buffer, Trace: o.Trace})
			}
			if errs[i] == nil {
				groups[i].(*group).options.Timeout = o.complete().Timeout
			}
		})
	}
	wg.Wait()
	t.Cleanup(func() {
		for _, m := range meshes {
			if m != nil {
				m.Close()
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return closing(t, groups)
}

func closing(t testing.TB, groups []Group) []Group {
	t.Cleanup(func() {
		for _, g := range groups {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return groups
}

// everywhere runs a test over all arrangements.
func everywhere(t *testing.T, test func(t *testing.T, make func(n int, o Options) []Group)) {
	for _, a := range arrangements {
		t.Run(a.name, func(t *testing.T) {
			test(t, func(n int, o Options) []Group { return a.make(t, n, o) })
		})
	}
}

// each runs f for all ranks at once and returns their errors.
func each(groups []Group, f func(g Group) error) []error {
	errs := make([]error, len(groups))
	var wg sync.WaitGroup
	for i, g := range groups {
		wg.Go(func() { errs[i] = f(g) })
	}
	wg.Wait()
	return errs
}

// must is each, without errors.
func must(t testing.TB, groups []Group, f func(g Group) error) {
	t.Helper()
	for i, err := range each(groups, f) {
		if err != nil {
			t.Fatalf("rank %d: %v", i, err)
		}
	}
}
