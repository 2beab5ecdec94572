package wgsl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
)

func parse(t testing.TB, text string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	return g
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
		{"buffer, one element more", "graph g(%x: f32[1025]) {\n  %y: f32[1025] = exp %x\n  return %y\n}", func(l *wgsl.Limits) { l.BufferBytes = 4096 }, 0, "y needs a buffer of 4100 bytes; maxBufferSize is 4096"},
		{"buffer, just filled", "graph g(%x: f32[1024]) {\n  %y: f32[1024] = exp %x\n  return %y\n}", func(l *wgsl.Limits) { l.BufferBytes = 4096 }, 1, ""},
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
		{"variables of a function", `graph g(%q: f32[1,1,1,8], %k: f32[1,1,1,8], %v: f32[1,1,1,65537]) {
  %y: f32[1,1,1,65537] = sdpa %q, %k, %v
  return %y
}`, func(*wgsl.Limits) {}, 0, "its values have 65537 channels; the functions of WGSL have room for the sums of 65536"},
		{"variables of a function, just filled", `graph g(%q: f32[1,1,1,8], %k: f32[1,1,1,8], %v: f32[1,1,1,65536]) {
  %y: f32[1,1,1,65536] = sdpa %q, %k, %v
  return %y
}`, func(*wgsl.Limits) {}, 1, ""},
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

// limited is the simulation of a device with other limits.
type limited struct {
	*wgsl.Simulator
	limits wgsl.Limits
}

func (l limited) Limits() wgsl.Limits { return l.limits }

// sum is the graph that adds up n inputs, which is one node when it is optimised.
func sum(t testing.TB, n int) *ir.Graph {
	var params []string
	body, last := "", "%x0"
	for i := range n {
		params = append(params, fmt.Sprintf("%%x%d: f32[20,30]", i))
		if i > 0 {
			body += fmt.Sprintf("  %%s%d: f32[20,30] = add %s, %%x%d\n", i, last, i)
			last = fmt.Sprintf("%%s%d", i)
		}
	}
	g := parse(t, fmt.Sprintf("graph g(%s) {\n%s  return %s\n}", strings.Join(params, ", "), body, last))
	r, err := pass.Run(g, pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Graph
}

// TestSplit: what is cut in pieces for a limit gives what it gives in one.
func TestSplit(t *testing.T) {
	binding := func(bytes int64) func(*wgsl.Limits) {
		return func(l *wgsl.Limits) { l.BindingBytes = bytes }
	}
	for _, c := range []struct {
		name       string
		graph      *ir.Graph
		change     func(*wgsl.Limits)
		dispatches int
	}{
		{"twelve operands", sum(t, 12), func(*wgsl.Limits) {}, 1 + 6},
		{"as many operands as there may be", sum(t, 7), func(*wgsl.Limits) {}, 1},
		{"elements", parse(t, "graph g(%x: f32[30,40], %y: f32[40]) {\n  %0: f32[30,40] = add %x, %y\n  return %0\n}"), binding(1200), 7},
		{"one line", parse(t, "graph g(%x: f32[1000]) {\n  %0: f32[1000] = exp %x\n  return %0\n}"), binding(1200), 6},
		{"a pad", parse(t, "graph g(%x: f32[60,7]) {\n  %0: f32[63,7] = pad %x {high = [1, 0], low = [2, 0], value = 3.0}\n  return %0\n}"), binding(1000), 2},
		{"lines", parse(t, "graph g(%x: f32[30,40]) {\n  %0: f32[30,40] = softmax %x {axis = 1}\n  return %0\n}"), binding(2600), 2},
		{"places of the largest", parse(t, "graph g(%x: f32[30,40]) {\n  %0: i64[40] = argmax %x {axis = 0}\n  return %0\n}"), binding(4800), 1},
		{"rows of a product", parse(t, "graph g(%x: f32[100,8], %w: f32[8,8], %b: f32[8]) {\n  %0: f32[100,8] = linear %x, %w, %b\n  return %0\n}"), binding(1000), 4},
		{"a stack of products", parse(t, "graph g(%x: f32[6,5,8], %w: f32[6,8,3]) {\n  %0: f32[6,5,3] = matmul %x, %w\n  return %0\n}"), binding(600), 3},
		{"a long line in two passes", parse(t, "graph g(%x: f32[65536]) {\n  %0: f32[] = mean %x\n  return %0\n}"), func(*wgsl.Limits) {}, 2},
		{"long lines across in two passes", parse(t, "graph g(%x: f32[8192,3]) {\n  %0: f32[3] = sum %x {axes = [0]}\n  return %0\n}"), func(*wgsl.Limits) {}, 2},
		{"images", parse(t, "graph g(%x: f32[4,2,8,8], %w: f32[3,2,3,3]) {\n  %0: f32[4,3,8,8] = conv2d %x, %w {padding = [1, 1]}\n  return %0\n}"), binding(1600), 2},
		{"attention", parse(t, "graph g(%q: f32[4,2,3,8], %k: f32[4,2,9,8], %v: f32[4,2,9,8]) {\n  %0: f32[4,2,3,8] = sdpa %q, %k, %v\n  return %0\n}"), binding(1500), 2},
		{"workgroups in two dimensions", parse(t, "graph g(%x: f32[300,20]) {\n  %0: f32[300,20] = softmax %x {axis = 1}\n  return %0\n}"), func(l *wgsl.Limits) { l.Groups = 19 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := limited{wgsl.NewSimulator(), wgsl.DefaultLimits}
			c.change(&d.limits)
			p, err := wgsl.NewProgram(c.graph, wgsl.TargetOf(d))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(p.Plan.Dispatches); n != c.dispatches {
				t.Errorf("%d dispatches, want %d", n, c.dispatches)
			}
			for _, u := range p.Plan.Uses() {
				if u.Most > u.Allowed {
					t.Errorf("%s: %d", u.Limit, u.Most)
				}
			}
			in, err := suite.Inputs(c.graph, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, &wgsl.Backend{Device: d}, c.graph, in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := run(t, interp.Reference(), c.graph, in)
			if err != nil {
				t.Fatal(err)
			}
			if e := conformance.Worst(got, want); !(e < 2e-6) {
				t.Errorf("it errs by %g", e)
			}
		})
	}
}

// TestRefusedOnce sees an error tell each reason once, and of many only the first.
func TestRefusedOnce(t *testing.T) {
	small := wgsl.DefaultTarget
	small.Limits.BufferBytes = 4096
	for name, c := range map[string]struct {
		target      wgsl.Target
		graph, want string
	}{
		"type of a node and a result": {wgsl.DefaultTarget, `graph g(%x: f64[3]) {
  %y: f64[3] = exp %x
  return %y
}`, "g cannot be a WebGPU program: %y = exp: %y is f64: WGSL has no f64"},
		"type of a result": {wgsl.DefaultTarget, `graph g(%x: f64[3]) {
  return %x
}`, "g cannot be a WebGPU program: %x is f64: WGSL has no f64"},
		"buffer of a result": {small, `graph g(%x: f32[2000]) {
  %y: f32[2000] = exp %x
  return %y
}`, "g cannot be a WebGPU program: %y = exp: y needs a buffer of 8000 bytes; maxBufferSize is 4096"},
		"many nodes": {wgsl.DefaultTarget, `graph g(%x: f64[3]) {
  %a: f64[3] = exp %x
  %b: f64[3] = exp %a
  %c: f64[3] = exp %b
  %d: f64[3] = exp %c
  %e: f64[3] = exp %d
  %f: f64[3] = exp %e
  return %f
}`, "g cannot be a WebGPU program: %a = exp: %a is f64: WGSL has no f64; %b = exp: %b is f64: WGSL has no f64; " +
			"%c = exp: %c is f64: WGSL has no f64; %d = exp: %d is f64: WGSL has no f64; and so for 2 nodes more"},
	} {
		if _, err := wgsl.NewProgram(parse(t, c.graph), c.target); err == nil || err.Error() != c.want {
			t.Errorf("%s: the error is\n%v\nwant\n%s", name, err, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for grid, want := range map[[3]int]string{{7, 1, 1}: "7", {16, 4, 1}: "16×4", {2, 1, 3}: "2×1×3", {1, 1, 1}: "1"} {
		if got := wgsl.Sizes(grid); got != want {
			t.Errorf("%v is %s, want %s", grid, got, want)
		}
	}
}
