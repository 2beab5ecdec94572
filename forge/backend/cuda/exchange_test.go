package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nccl"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// member is a group of ranks with devices, seen from one of them. Nothing of it goes
// over the host.
type member struct {
	backend.Collective
	comm      *nccl.Comm
	mailboxes *peer.Memory
}

func (m member) Rank() int        { return m.comm.Rank }
func (m member) Size() int        { return m.comm.Size }
func (m member) NCCL() *nccl.Comm { return m.comm }
func (m member) Peer() (*peer.Memory, string) {
	if m.mailboxes == nil {
		return nil, "the test wants NCCL"
	}
	return m.mailboxes, ""
}

// mail gives both ranks mailboxes.
func mail(t testing.TB, list [2]*Backend, groups *[2]member) {
	t.Helper()
	tickets := make([]peer.Ticket, 2)
	for i := range groups {
		var err error
		if groups[i].mailboxes, tickets[i], err = peer.New(t.Context(), list[i].Context, i, 2); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := groups[i].mailboxes.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := both(func(i int) error { return groups[i].mailboxes.Connect(t.Context(), tickets) }); err != nil {
		t.Fatal(err)
	}
}

// pair are the backends of two devices that have joined, each with its group.
func pair(t testing.TB) (list [2]*Backend, groups [2]member) {
	t.Helper()
	device(t)
	lib, err := nccl.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i], err = Open(i); err != nil {
			t.Skip("two GPUs are needed: ", err)
		}
	}
	id, err := lib.NewID()
	if err != nil {
		t.Fatal(err)
	}
	err = both(func(i int) (err error) {
		groups[i].comm, err = lib.Join(t.Context(), list[i].Context, id, i, 2)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := both(func(i int) error { return groups[i].comm.Close(context.Background()) }); err != nil {
			t.Error(err)
		}
	})
	return list, groups
}

// both does something on both ranks at once.
func both(f func(i int) error) error {
	failures := make(chan error, 2)
	for i := range 2 {
		go func() { failures <- f(i) }()
	}
	return errors.Join(<-failures, <-failures)
}

// TestExchanges runs programs of two ranks on two devices. On rank r the input holds
// 100r, 100r+1 and so on.
func TestExchanges(t *testing.T) {
	list, groups := pair(t)
	for _, c := range []struct {
		nodes [2]string
		spec  string
		want  [2][]float64
	}{
		{onBoth("all_reduce %x {size = 2}"), "f32[2,4]", results(100, 102, 104, 106, 108, 110, 112, 114)},
		{onBoth("all_reduce %x {size = 2, reduce = \"max\"}"), "f32[2,4]", results(100, 101, 102, 103, 104, 105, 106, 107)},
		{onBoth("reduce_scatter %x {size = 2}"), "f32[1,4]", [2][]float64{{100, 102, 104, 106}, {108, 110, 112, 114}}},
		{onBoth("reduce_scatter %x {size = 2, axis = 1}"), "f32[2,2]", [2][]float64{{100, 102, 108, 110}, {104, 106, 112, 114}}},
		{onBoth("reduce_scatter %x {size = 2, axis = 1, reduce = \"max\"}"), "f32[2,2]", [2][]float64{{100, 101, 104, 105}, {102, 103, 106, 107}}},
		{onBoth("all_gather %x {size = 2}"), "f32[4,4]", results(0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107)},
		{onBoth("all_gather %x {size = 2, axis = 1}"), "f32[2,8]", results(0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107)},
		{onBoth("broadcast %x {size = 2, root = 1}"), "f32[2,4]", results(100, 101, 102, 103, 104, 105, 106, 107)},
		{[2]string{
			"add %x, %x\n%s: i64[] = send %y {size = 2, peer = 1}",
			"recv {size = 2, peer = 0, shape = [2, 4]}",
		}, "f32[2,4]", results(0, 2, 4, 6, 8, 10, 12, 14)},
	} {
		t.Run(c.nodes[0], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var inputs [2]*tensor.Tensor
			var bound [2]backend.Bound
			spec, err := ir.Parse(op.Registry, "graph spec(%y: "+c.spec+") {\nreturn %y\n}")
			if err != nil {
				t.Fatal(err)
			}
			err = both(func(i int) error {
				g, err := ir.Parse(op.Registry, fmt.Sprintf("graph rank(%%x: f32[2,4]) {\n%%y: %s = %s\nreturn %%y\n}", c.spec, c.nodes[i]))
				if err != nil {
					return err
				}
				x, err := tensor.Zeros(tensor.F32, 2, 4)
				if err != nil {
					return err
				}
				for k := range x.Len() {
					x.SetElem(k, float64(100*i+k))
				}
				ctx := backend.WithGroup(ctx, "world", groups[i])
				exe, err := list[i].Compile(ctx, g)
				if err != nil {
					return err
				}
				inputs[i] = x
				bound[i], err = exe.(*Executable).Bind(ctx, make([]backend.Held, 1), make([]backend.Held, 1))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			// In one process memory is taken for all devices, none of which may wait for another then.
			err = both(func(i int) error {
				out, err := tensor.Zeros(tensor.F32, spec.Inputs[0].Spec.Shape...)
				if err != nil {
					return err
				}
				for range 3 {
					if err := bound[i].Run(ctx, []*tensor.Tensor{out}, inputs[i:i+1]); err != nil {
						return err
					}
					for k, want := range c.want[i] {
						if out.Len() != len(c.want[i]) || out.Elem(k) != want {
							return fmt.Errorf("rank %d gives %v, want %v", i, out, c.want[i])
						}
					}
				}
				return nil
			})
			if err = errors.Join(err, bound[0].Close(), bound[1].Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func onBoth(node string) [2]string           { return [2]string{node, node} }
func results(values ...float64) [2][]float64 { return [2][]float64{values, values} }

// TestExchangeErrors are runs whose ranks have no devices that exchange.
func TestExchangeErrors(t *testing.T) {
	b := device(t)
	g, err := ir.Parse(op.Registry, "graph rank(%x: f32[2]) {\n%y: f32[2] = all_reduce %x {size = 2}\nreturn %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.Zeros(tensor.F32, 2)
	if err != nil {
		t.Fatal(err)
	}
	for want, ctx := range map[string]context.Context{
		`the program runs on 2 ranks of group "world", which this run does not have`: t.Context(),
		`the ranks of group "world" have no devices that exchange tensors`:           backend.WithGroup(t.Context(), "world", hostOnly{}),
	} {
		if _, err := exe.Run(ctx, x); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// hostOnly is a group of two whose tensors go over the host.
type hostOnly struct{ backend.Collective }

func (hostOnly) Rank() int { return 0 }
func (hostOnly) Size() int { return 2 }
