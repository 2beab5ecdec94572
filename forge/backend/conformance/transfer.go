package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// transfers are programs of groups of ranks. On rank r the input %x is f32[2,4]
// and holds 100r, 100r+1 and so on.
var transfers = []struct {
	programs []string    // of each rank: the result and the nodes
	want     [][]float64 // the result on each rank
}{
	{same(2, "f32[2,4]", `all_reduce %x {size = 2}`), [][]float64{
		{100, 102, 104, 106, 108, 110, 112, 114}, {100, 102, 104, 106, 108, 110, 112, 114},
	}},
	{same(3, "f32[2,4]", `all_reduce %x {size = 3, reduce = "max"}`), [][]float64{
		{200, 201, 202, 203, 204, 205, 206, 207}, {200, 201, 202, 203, 204, 205, 206, 207}, {200, 201, 202, 203, 204, 205, 206, 207},
	}},
	{same(2, "f32[1,4]", `reduce_scatter %x {size = 2}`), [][]float64{{100, 102, 104, 106}, {108, 110, 112, 114}}},
	{same(2, "f32[2,2]", `reduce_scatter %x {size = 2, axis = 1}`), [][]float64{{100, 102, 108, 110}, {104, 106, 112, 114}}},
	{same(2, "f32[4,4]", `all_gather %x {size = 2}`), [][]float64{
		{0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107}, {0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107},
	}},
	{same(2, "f32[2,8]", `all_gather %x {size = 2, axis = 1}`), [][]float64{
		{0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107}, {0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107},
	}},
	{same(2, "f32[2,4]", `broadcast %x {size = 2, root = 1}`), [][]float64{
		{100, 101, 102, 103, 104, 105, 106, 107}, {100, 101, 102, 103, 104, 105, 106, 107},
	}},
	// A pipeline of two stages. Nothing reads the result of send.
	{[]string{
		"%s: i64[] = send %x {size = 2, peer = 1}\n%y: f32[2,4] = recv {size = 2, peer = 1, shape = [2, 4]}",
		"%z: f32[2,4] = recv {size = 2, peer = 0, shape = [2, 4]}\n%y: f32[2,4] = add %z, %x\n%s: i64[] = send %y {size = 2, peer = 0}",
	}, [][]float64{{100, 102, 104, 106, 108, 110, 112, 114}, {100, 102, 104, 106, 108, 110, 112, 114}}},
}

// same is one program of one node for all ranks.
func same(ranks int, result, node string) []string {
	list := make([]string, ranks)
	for i := range list {
		list[i] = "%y: " + result + " = " + node
	}
	return list
}

// testTransfers runs a backend on several ranks at once.
func testTransfers(t *testing.T, b backend.Backend) {
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer && !strings.Contains(fmt.Sprint(transfers), " = "+o.Name+" ") {
			t.Errorf("the suite has no program with %s", o.Name)
		}
	}
	for _, c := range transfers {
		h := newHub(len(c.programs))
		outs, errs := make([]*tensor.Tensor, len(c.programs)), make([]error, len(c.programs))
		ranks, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, program := range c.programs {
			ctx := backend.WithGroup(ranks, "world", rank{h, i})
			wg.Go(func() {
				if outs[i], errs[i] = runRank(ctx, b, program, i); errs[i] != nil {
					stop() // the others would wait
				}
			})
		}
		wg.Wait()
		stop()
		for i, want := range c.want {
			if errs[i] != nil {
				t.Fatalf("%s\non rank %d: %v", c.programs[i], i, errs[i])
			}
			for k, w := range want {
				if outs[i].Len() != len(want) || outs[i].Elem(k) != w {
					t.Fatalf("%s\non rank %d gives %v, want %v", c.programs[i], i, outs[i], want)
				}
			}
		}
	}
}

func runRank(ctx context.Context, b backend.Backend, program string, rank int) (*tensor.Tensor, error) {
	g, err := ir.Parse(op.Registry, "graph rank(%x: f32[2,4]) {\n"+program+"\nreturn %y\n}")
	if err != nil {
		return nil, err
	}
	exe, err := b.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	x, err := tensor.Zeros(tensor.F32, 2, 4)
	if err != nil {
		return nil, err
	}
	for k := range x.Len() {
		x.SetElem(k, float64(100*rank+k))
	}
	out, err := exe.Run(ctx, x)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
