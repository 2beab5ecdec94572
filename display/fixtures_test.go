package display

import (
	"fmt"
	"math/rand/v2"
)

func mlpGraph() Graph {
	return Graph{
		Name: "mlp",
		Nodes: []Node{
			{ID: "x", Sub: "f32[8,16]", Class: ClassInput},
			{ID: "w1", Sub: "f32[16,32]", Class: ClassInput},
			{ID: "b1", Sub: "f32[32]", Class: ClassInput},
			{ID: "w2", Sub: "f32[32,4]", Class: ClassInput},
			{ID: "h", Label: "matmul", Sub: "f32[8,32]", Class: ClassContraction, Tooltip: "mlp.fs:2"},
			{ID: "a", Label: "add", Sub: "f32[8,32]", Class: ClassElementwise, Cluster: "k0"},
			{ID: "r", Label: "relu", Sub: "f32[8,32]", Class: ClassElementwise, Cluster: "k0"},
			{ID: "y", Label: "matmul", Sub: "f32[8,4]", Class: ClassContraction},
			{ID: "out", Label: "output", Class: ClassOutput},
		},
		Edges: []Edge{
			{From: "x", To: "h", ToPort: "lhs"}, {From: "w1", To: "h", ToPort: "rhs"},
			{From: "h", To: "a"}, {From: "b1", To: "a"}, {From: "a", To: "r"},
			{From: "r", To: "y", ToPort: "lhs"}, {From: "w2", To: "y", ToPort: "rhs"},
			{From: "y", To: "out", Label: "4 KiB"},
		},
		Clusters: []Cluster{{ID: "k0", Label: "fused kernel 0", Tooltip: "two elementwise operators, one pass over memory"}},
	}
}

// attentionGraph is one transformer block: fused kernels, a residual, a cache.
func attentionGraph(layers int) Graph {
	g := Graph{Name: "transformer"}
	add := func(id, label, sub string, c Class, cluster string, from ...string) string {
		g.Nodes = append(g.Nodes, Node{ID: id, Label: label, Sub: sub, Class: c, Cluster: cluster})
		for _, f := range from {
			g.Edges = append(g.Edges, Edge{From: f, To: id})
		}
		return id
	}
	x := add("x", "x", "f32[128,512]", ClassInput, "")
	for l := range layers {
		id := func(s string) string { return fmt.Sprintf("%s%d", s, l) }
		norm := func(p, x string) string {
			k := id(p + "norm")
			sq := add(id(p+"sq"), "mul", "f32[128,512]", ClassElementwise, k, x, x)
			m := add(id(p+"mean"), "mean", "f32[128,1]", ClassReduction, k, sq)
			rs := add(id(p+"rsqrt"), "rsqrt", "f32[128,1]", ClassElementwise, k, m)
			return add(id(p+"scale"), "mul", "f32[128,512]", ClassElementwise, k, x, rs)
		}
		n := norm("a", x)
		proj := func(s, in string) string {
			w := add(id("w"+s), id("w"+s), "f32[512,512]", ClassConstant, "")
			return add(id(s), "matmul", "f32[128,512]", ClassContraction, "", in, w)
		}
		q, k, v := proj("q", n), proj("k", n), proj("v", n)
		cache := add(id("cache"), "kv_cache", "f16[2048,512]", ClassState, "")
		k2 := add(id("append"), "kv_append", "f16[2048,512]", ClassState, "", cache, k, v)
		kt := add(id("kt"), "transpose", "f32[512,128]", ClassMovement, "", k2)
		s := add(id("s"), "matmul", "f32[128,2048]", ClassContraction, "", q, kt)
		c := id("softmax")
		mx := add(id("max"), "max", "f32[128,1]", ClassReduction, c, s)
		sub := add(id("sub"), "sub", "f32[128,2048]", ClassElementwise, c, s, mx)
		e := add(id("exp"), "exp", "f32[128,2048]", ClassElementwise, c, sub)
		sm := add(id("sum"), "sum", "f32[128,1]", ClassReduction, c, e)
		d := add(id("div"), "div", "f32[128,2048]", ClassElementwise, c, e, sm)
		o := add(id("o"), "matmul", "f32[128,512]", ClassContraction, "", d, k2)
		o = proj("proj", o)
		r := add(id("res"), "all_reduce", "f32[128,512]", ClassTransfer, "", o)
		x = add(id("resid"), "add", "f32[128,512]", ClassElementwise, "", x, r)
		n = norm("f", x)
		up := proj("up", n)
		gl := add(id("gelu"), "gelu", "f32[128,2048]", ClassElementwise, "", up)
		dn := proj("down", gl)
		x = add(id("fres"), "add", "f32[128,512]", ClassElementwise, "", x, dn)
	}
	add("out", "output", "", ClassOutput, "", x)
	return g
}

func randomGraph(n int, seed uint64) Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := Graph{Name: fmt.Sprintf("random %d", n)}
	classes := []Class{ClassElementwise, ClassReduction, ClassContraction, ClassMovement, ClassConstant}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{ID: fmt.Sprintf("v%d", i), Label: fmt.Sprintf("op%d", i), Sub: "f32[8,16]", Class: classes[rng.IntN(len(classes))]})
		if i == 0 {
			continue
		}
		g.Edges = append(g.Edges, Edge{From: fmt.Sprintf("v%d", max(0, i-1-rng.IntN(8))), To: fmt.Sprintf("v%d", i)})
		if rng.IntN(3) == 0 {
			g.Edges = append(g.Edges, Edge{From: fmt.Sprintf("v%d", rng.IntN(i)), To: fmt.Sprintf("v%d", i)})
		}
	}
	return g
}
