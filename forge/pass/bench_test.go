package pass

import (
	"fmt"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// BenchmarkRun shows how the pipeline grows with the graph: half of the nodes
// fuse, and one value is read by all kernels.
func BenchmarkRun(b *testing.B) {
	for _, nodes := range []int{500, 2000, 8000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			build := ir.NewBuilder(op.Registry, "big")
			x, err := build.Input("x", ir.F32(4, 4))
			if err != nil {
				b.Fatal(err)
			}
			shared, err := build.Apply("exp", nil, x)
			if err != nil {
				b.Fatal(err)
			}
			v := x
			for range nodes / 4 {
				for _, name := range []string{"matmul", "add", "sub", "mul"} {
					if v, err = build.Apply(name, nil, v, shared); err != nil {
						b.Fatal(err)
					}
				}
			}
			g, err := build.Finish(v)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Run(g, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
