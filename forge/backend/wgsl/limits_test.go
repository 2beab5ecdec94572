package wgsl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

func parse(t testing.TB, text string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// many is a sum of n inputs in one kernel.
func many(n int) string {
	var params, args, body strings.Builder
	for i := range n {
		fmt.Fprintf(&params, ", %%x%d: f32[5]", i)
		fmt.Fprintf(&args, ", %%x%d", i)
		fmt.Fprintf(&body, ", %%s%d: f32[]", i)
	}
	return fmt.Sprintf("graph many(%s) {\n  %%y: f32[5] = concat %s {axis = 0}\n  return %%y\n}", params.String()[2:], args.String()[2:])
}

// TestLimits has a graph for each limit: it is split, or refused with the limit named.
func TestLimits(t *testing.T) {
	const product = `graph g(%x: f32[64,64], %w: f32[64,64]) {
  %y: f32[64,64] = matmul %x, %w
  return %y
}`
	const add = `graph g(%x: f32[30,40], %w: f32[30,40]) {
  %y: f32[30,40] = add %x, %w
  return %y
}`
	for _, c := range []struct {
		name, graph string
		change      func(*wgsl.Limits)
		dispatches  int // of the plan
		refused     string
	}{
		{"binding, elements", add, func(l *wgsl.Limits) { l.BindingBytes = 2048 }, 4, ""},
		{"binding, rows of a product", product, func(l *wgsl.Limits) { l.BindingBytes = 16 << 10 }, 1, ""},
		{"binding, columns of a product", product, func(l *wgsl.Limits) { l.BindingBytes = 8 << 10 }, 0, "maxStorageBufferBindingSize is 8192"},
		{"buffer", add, func(l *wgsl.Limits) { l.BufferBytes = 4096 }, 0, "maxBufferSize"},
		{"groups", `graph g(%x: f32[300,20]) {
  %y: f32[300,20] = softmax %x {axis = 1}
  return %y
}`, func(l *wgsl.Limits) { l.Groups = 20 }, 1, ""},
		{"groups of groups", `graph g(%x: f32[500,20]) {
  %y: f32[500,20] = softmax %x {axis = 1}
  return %y
}`, func(l *wgsl.Limits) { l.Groups = 20 }, 0, "maxComputeWorkgroupsPerDimension is 20"},
		{"workgroup memory", `graph g(%q: f32[1,1,2,4096], %k: f32[1,1,3,4096], %v: f32[1,1,3,8]) {
  %y: f32[1,1,2,8] = sdpa %q, %k, %v
  return %y
}`, func(*wgsl.Limits) {}, 0, "maxComputeWorkgroupStorageSize is 16384"},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := wgsl.DefaultTarget
			c.change(&target.Limits)
			p, err := wgsl.NewProgram(parse(t, c.graph), target)
			un := (*wgsl.Unsupported)(nil)
			switch {
			case c.refused == "" && err != nil:
				t.Fatal(err)
			case c.refused == "" && len(p.Plan.Dispatches) != c.dispatches:
				t.Errorf("%d dispatches, want %d", len(p.Plan.Dispatches), c.dispatches)
			case c.refused != "" && (!errors.As(err, &un) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("the error is %v, want %q in it", err, c.refused)
			}
		})
	}
}
