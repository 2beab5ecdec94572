package op

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
)

// parseNode parses a program of one node: its inputs, its result type and the
// node itself.
func parseNode(inputs, result, node string) (*ir.Graph, error) {
	return ir.Parse(Registry, "graph f("+inputs+") {\n %y: "+result+" = "+node+"\n return %y\n}")
}

// TestInferRejects gives what each operator refuses, with the words that tell
// the reader why.
func TestInferRejects(t *testing.T) {
	for _, c := range []struct{ inputs, node, want string }{
		{"%x: f32[], %w: f32[3,2]", "linear %x, %w", "x is a scalar; it needs a dimension of input channels"},
		{"%x: f32[4,3], %w: f32[3]", "linear %x, %w", "w must have the shape [in, out], not rank 1"},
		{"%x: f32[4,3], %w: f32[5,2]", "linear %x, %w", "linear(%x: f32[4,3], %w: f32[5,2]): x has 3 input channels, w[in, out] has 5"},
		{"%x: f32[4,3], %w: f32[3,2], %b: f32[3]", "linear %x, %w, %b", "bias has the shape [3]; 2 output channels need [2]"},
		{"%x: f32[4,3], %w: f64[3,2]", "linear %x, %w", "different types, f32 and f64"},
		{"%x: f32[4,3], %w: f32[3,2]", `linear %x, %w {act = "swish"}`, `attribute act is "swish"`},
		{"%x: f32[4,3]", "linear %x", "takes 2 to 4 operands, got 1"},

		{"%x: f32[1,3,8,8], %w: f32[4,3,3]", "conv2d %x, %w", "must have rank 4, not 4 and 3"},
		{"%x: f32[1,3,8,8], %w: f32[4,2,3,3]", "conv2d %x, %w", "w has 2 input channels; x has 3 per group"},
		{"%x: f32[1,3,8,8], %w: f32[4,1,3,3]", "conv2d %x, %w {groups = 3}", "3 input and 4 output channels do not divide into 3 groups"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {groups = 0}", "attribute groups is 0"},
		{"%x: f32[1,3,8,2], %w: f32[4,3,3,3]", "conv2d %x, %w", "the window spans 3 of the width, which is 2 with padding"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {dilation = [4, 1]}", "the window spans 9 of the height, which is 8 with padding"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,0,3]", "conv2d %x, %w", "the window has no height"},
		{"%x: f32[1,3,0,8], %w: f32[4,3,1,1]", "conv2d %x, %w {padding = [1, 0]}", "the images of x have no pixels"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {stride = [1]}", "attribute stride has 1 numbers; [h, w] is needed"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {stride = [1, 0]}", "the stride of the width is 0"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {padding = [1, 2, 3]}", "attribute padding has 3 numbers"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {padding = [1, 9223372036854775807]}", "the padding of the width is 9223372036854775807"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3]", "conv2d %x, %w {dilation = [-1, 1]}", "the dilation of the height is -1"},
		{"%x: f32[1,3,8,8], %w: f32[4,3,3,3], %b: f32[3]", "conv2d %x, %w, %b", "4 output channels need [4]"},

		{"%x: f32[3,8,8]", "max_pool2d %x {kernel = [2, 2]}", "must have rank 4, not 3"},
		{"%x: f32[1,3,8,8]", "max_pool2d %x {kernel = [2]}", "attribute kernel has 1 numbers"},
		{"%x: f32[1,3,8,8]", "max_pool2d %x {kernel = [0, 2]}", "attribute kernel has 0 at index 0"},
		{"%x: f32[1,3,8,8]", "max_pool2d %x {kernel = [1, 16385]}", "windows are 1 to 16384 wide"},
		{"%x: f32[1,3,8,8]", "max_pool2d %x {kernel = [2, 2], padding = [2, 0]}", "window 0 lies in the padding alone"},
		{"%x: f32[1,3,8,1]", "max_pool2d %x {kernel = [1, 2], dilation = [1, 3], padding = [0, 2]}", "window 0 lies in the padding alone"},
		{"%x: f32[1,3,8,8]", "avg_pool2d %x {kernel = [9, 1]}", "the window spans 9 of the height"},
		{"%x: f32[1,3,8,8]", "avg_pool2d %x {kernel = [2, 2], dilation = [2, 2]}", `unknown attribute "dilation"`},

		{"%q: f32[1,4,5,8], %k: f32[1,4,6,7], %v: f32[1,4,6,8]", "sdpa %q, %k, %v", "q has 8 channels per head, k has 7"},
		{"%q: f32[1,4,5,8], %k: f32[1,3,6,8], %v: f32[1,3,6,8]", "sdpa %q, %k, %v", "4 query heads do not divide among 3 key heads"},
		{"%q: f32[1,4,5,8], %k: f32[1,0,6,8], %v: f32[1,0,6,8]", "sdpa %q, %k, %v", "4 query heads do not divide among 0 key heads"},
		{"%q: f32[1,4,5,8], %k: f32[1,2,6,8], %v: f32[1,2,7,8]", "sdpa %q, %k, %v", "k and v differ before the last dimension: [1,2,6,8] and [1,2,7,8]"},
		{"%q: f32[2,4,5,8], %k: f32[1,2,6,8], %v: f32[1,2,6,8]", "sdpa %q, %k, %v", "q has 2 batches, k and v have 1"},
		{"%q: f32[4,5,8], %k: f32[1,2,6,8], %v: f32[1,2,6,8]", "sdpa %q, %k, %v", "q must have rank 4, not 3"},
		{"%q: f32[1,4,5,0], %k: f32[1,2,6,0], %v: f32[1,2,6,8]", "sdpa %q, %k, %v", "heads need at least one channel"},
		{"%q: f32[1,4,5,8], %m: bool[5,6]", "sdpa %q, %q, %q, %m {causal = true}", "causal and a mask exclude one another"},
		{"%q: f32[1,4,5,8], %m: i64[5,5]", "sdpa %q, %q, %q, %m", "mask has type i64; bool or f32 is needed"},
		{"%q: f32[1,4,5,8], %m: f64[5,5]", "sdpa %q, %q, %q, %m", "mask has type f64; bool or f32 is needed"},
		{"%q: f32[1,4,5,8], %m: bool[5,6]", "sdpa %q, %q, %q, %m", "mask [5,6] does not broadcast to [1,4,5,5]"},
		{"%q: f32[1,4,5,8], %m: bool[2,4,5,5]", "sdpa %q, %q, %q, %m", "mask [2,4,5,5] does not broadcast to [1,4,5,5]"},
		{"%q: f32[1,4,5,8]", "sdpa %q, %q, %q {scale = 0.0}", "attribute scale is 0; it must be finite and positive"},
		{"%q: f32[1,4,5,8]", "sdpa %q, %q, %q {scale = inf}", "attribute scale is +Inf"},
		{"%q: f32[1,4,5,8]", "sdpa %q, %q, %q {scale = nan}", "attribute scale is NaN"},

		{"%x: f32[8], %p: i64[]", "rope %x, %p", "x must have the shape [..., T, D], not rank 1"},
		{"%x: f32[4,8], %p: f32[]", "rope %x, %p", "operand %p has type f32; i64 or i32 is needed"},
		{"%x: f32[4,8], %p: i64[4]", "rope %x, %p", "pos has the shape [4]; [] is needed"},
		{"%x: f32[2,4,8], %p: i64[4]", "rope %x, %p", "pos has the shape [4]; [] or [2] is needed"},
		{"%x: f32[4,7], %p: i64[]", "rope %x, %p", "7 of 7 channels cannot turn in pairs"},
		{"%x: f32[4,8], %p: i64[]", "rope %x, %p {dims = 10}", "10 of 8 channels cannot turn in pairs"},
		{"%x: f32[4,8], %p: i64[]", "rope %x, %p {base = -1.0}", "attribute base is -1"},
		{"%x: f32[4,8], %p: i64[]", "rope %x, %p {freqs = f64[3] 1.0 1.0 1.0}", "attribute freqs must be f64[4]"},
		{"%x: f32[4,2], %p: i64[]", "rope %x, %p {freqs = f64[1] nan}", "attribute freqs has NaN at index 0"},
		{"%x: f32[4,2], %p: i64[]", "rope %x, %p {freqs = f64[1] 1.0, base = 2.0}", "base and freqs exclude one another"},

		{"%c: f32[2,3,8,4], %n: f32[1,3,1,4], %p: i64[]", "kv_append %c, %n, %p", "the cache has 2 batches, new has 1"},
		{"%c: f32[2,3,8,4], %n: f32[2,3,1,5], %p: i64[]", "kv_append %c, %n, %p", "cache has 3 heads of 4 channels, new has 3 of 5"},
		{"%c: f32[2,3,8,4], %n: f32[2,3,1,4], %p: i64[3]", "kv_append %c, %n, %p", "pos has the shape [3]; [] or [2] is needed"},
		{"%c: f32[2,3,8,4], %n: f32[2,3,1,4], %p: i64[], %l: f32[]", "kv_append %c, %n, %p, %l", "operand %l has type f32; i64 or i32 is needed"},
		{"%c: f32[9,3,8,4], %n: f32[2,3,1,4], %t: i32[3,2], %p: i64[]", "paged_kv_append %c, %n, %t, %p", "table has the shape [3,2]; [2,2] is needed"},
		{"%c: f32[9,3,0,4], %n: f32[2,3,1,4], %t: i32[2,2], %p: i64[]", "paged_kv_append %c, %n, %t, %p", "the blocks of the pool have no positions"},
		{"%q: f32[2,6,1,4], %k: f32[9,3,8,4], %t: i32[2], %p: i64[]", "paged_attention %q, %k, %k, %t, %p", "table must have the shape [B, blocks], not rank 1"},
		{"%q: f32[2,6,1,4], %k: f32[1,3,8,4], %p: i64[]", "cached_attention %q, %k, %k, %p", "q has 2 batches, k and v have 1"},

		{"%x: f32[4]", "all_reduce %x {size = 0}", "attribute size is 0; groups have 1 to 65536 ranks"},
		{"%x: bool[4]", "all_reduce %x {size = 2}", "operand %x has type bool"},
		{"%x: f32[5]", "reduce_scatter %x {size = 2}", "dimension 0 of f32[5] does not divide among 2 ranks"},
		{"%x: f32[4]", "all_gather %x {size = 2, axis = 1}", "axis 1 is out of range"},
		{"%x: f32[4]", "broadcast %x {size = 2, root = 2}", "attribute root is 2; the group has ranks 0 to 1"},
		{"%x: f32[4]", "send %x {size = 1, peer = 0}", "a group of one rank has nobody to talk to"},
		{"%x: f32[4]", "recv {size = 2, peer = 5, shape = [4]}", "attribute peer is 5"},
		{"%x: f32[4]", "recv {size = 2, peer = 1, shape = [-4]}", "shape has the dimension -4"},
	} {
		if _, err := parseNode(c.inputs, "f32[1]", c.node); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s:\ngot error  %v\nwant      … %s", c.node, c.inputs, err, c.want)
		}
	}
}

// TestCosts compares operation counts with the formulas on paper.
func TestCosts(t *testing.T) {
	for _, c := range []struct {
		inputs, result, node string
		flops, bytes         int64
	}{
		{"%x: f32[8,64], %w: f32[64,128]", "f32[8,128]", "linear %x, %w", 2 * 8 * 64 * 128, 4 * (8*64 + 64*128 + 8*128)},
		{"%x: f32[8,64], %w: f32[64,128], %b: f32[128]", "f32[8,128]", "linear %x, %w, %b", 2*8*64*128 + 8*128, 4 * (8*64 + 64*128 + 128 + 8*128)},
		{"%x: f32[8,64], %w: f32[64,128], %b: f32[128]", "f32[8,128]", `linear %x, %w, %b {act = "gelu_tanh"}`, 2*8*64*128 + 8*128 + 8*8*128, 4 * (8*64 + 64*128 + 128 + 8*128)},
		{"%x: f32[8,64], %w: f32[64,128]", "f32[8,128]", `matmul %x, %w {act = "relu"}`, 2*8*64*128 + 8*128, 4 * (8*64 + 64*128 + 8*128)},
		{"%x: f32[2,3,8,8], %w: f32[4,3,3,3]", "f32[2,4,6,6]", "conv2d %x, %w", 2 * (2 * 4 * 6 * 6) * 27, 4 * (2*3*64 + 4*27 + 2*4*36)},
		{"%x: f32[2,4,8,8], %w: f32[4,2,3,3], %b: f32[4]", "f32[2,4,8,8]", "conv2d %x, %w, %b {groups = 2, padding = [1, 1]}", (2*18 + 1) * (2 * 4 * 64), 4 * (2*4*64*2 + 4*18 + 4)},
		{"%q: f32[2,4,5,8], %k: f32[2,2,7,8]", "f32[2,4,5,8]", "sdpa %q, %k, %k", 2*(2*4*5*7)*(2*8) + 5*(2*4*5*7), 4 * (2*2*4*5*8 + 2*2*7*8)},
		{"%q: f32[2,4,5,8], %k: f32[2,2,7,8]", "f32[2,4,5,8]", "sdpa %q, %k, %k {causal = true}", (2*(2*8) + 5) * (2 * 4 * 15), 4 * (2*2*4*5*8 + 2*2*7*8)},
		{"%q: f32[2,4,7,8], %k: f32[2,2,2,8]", "f32[2,4,7,8]", "sdpa %q, %k, %k {causal = true}", (2*(2*8) + 5) * (2 * 4 * 7 * 2), 4 * (2*2*4*7*8 + 2*2*2*8)},
		{"%q: f32[2,4,1,8], %k: f32[2,2,16,8], %p: i64[2]", "f32[2,4,1,8]", "cached_attention %q, %k, %k, %p", (2*(2*8) + 5) * (2 * 4 * 16), 4*(2*2*4*8+2*2*16*8) + 16},
		{"%q: f32[2,4,1,8], %k: f32[9,2,4,8], %t: i32[2,3], %p: i64[2]", "f32[2,4,1,8]", "paged_attention %q, %k, %k, %t, %p", (2*(2*8) + 5) * (2 * 4 * 12), 4*(2*2*4*8+9*2*4*8+6) + 16},
		{"%x: f32[1,2,4,4]", "f32[1,2,2,2]", "max_pool2d %x {kernel = [2, 2]}", 4 * 8, 4 * (32 + 8)},
		{"%x: f32[1,2,4,4]", "f32[1,2,2,2]", "avg_pool2d %x {kernel = [2, 2]}", 5 * 8, 4 * (32 + 8)},
		{"%x: f32[2,3,4,8], %p: i64[]", "f32[2,3,4,8]", "rope %x, %p {dims = 6}", 3 * 6 * 24, 4*2*192 + 8},
		{"%x: f32[6]", "f32[6]", "all_reduce %x {size = 4}", 18, 48},
	} {
		g, err := parseNode(c.inputs, c.result, c.node)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := g.Nodes[0].Cost(); got.FLOPs != c.flops || got.Bytes != c.bytes {
			t.Errorf("%s: %d operations and %d bytes, want %d and %d", c.node, got.FLOPs, got.Bytes, c.flops, c.bytes)
		}
	}
}

// TestCanonicalAttributes checks that attributes which say what their absence
// says are dropped, and that short forms are written out.
func TestCanonicalAttributes(t *testing.T) {
	for _, c := range []struct{ inputs, result, node, want string }{
		{"%x: f32[1,1,4,4], %w: f32[1,1,3,3]", "f32[1,1,4,4]", "conv2d %x, %w {padding = [1, 1], stride = [1, 1]}", "conv2d %x, %w {padding = [1, 1, 1, 1]}"},
		{"%x: f32[1,1,4,4]", "f32[1,1,2,2]", "max_pool2d %x {kernel = [2, 2], stride = [2, 2], padding = [0, 0]}", "max_pool2d %x {kernel = [2, 2]}"},
		{"%q: f32[1,1,4,4]", "f32[1,1,4,4]", "sdpa %q, %q, %q {scale = 0.5, causal = false}", "sdpa %q, %q, %q"},
		{"%q: f32[1,1,4,4]", "f32[1,1,4,4]", "sdpa %q, %q, %q {scale = 0.25}", "sdpa %q, %q, %q {scale = 0.25}"},
		{"%x: f32[2,4], %p: i64[]", "f32[2,4]", "rope %x, %p {dims = 4, base = 10000.0}", "rope %x, %p"},
		{"%x: f32[2,4]", "f32[2,8]", "all_gather %x {size = 2, axis = -1}", "all_gather %x {axis = 1, size = 2}"},
	} {
		g, err := parseNode(c.inputs, c.result, c.node)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := g.String(); !strings.Contains(got, " = "+c.want+"\n") {
			t.Errorf("%s reads\n%s", c.node, got)
		}
	}
}
