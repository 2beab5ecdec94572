package op

import (
	"math"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestMeaning gives the results that a reader might not expect: integers at the
// ends of their range, NaN and infinities, zeros and ties.
func TestMeaning(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	const low, high = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		inputs, result, node string
		in                   []*tensor.Tensor
		want                 []float64
	}{
		{"%a: i64[3], %b: i64[3]", "i64[3]", "add %a, %b", []*tensor.Tensor{from[int64](t, []int{3}, high, low, 1), from[int64](t, []int{3}, 1, -1, 2)}, []float64{low, high, 3}},
		{"%a: i32[2], %b: i32[2]", "i32[2]", "mul %a, %b", []*tensor.Tensor{from[int32](t, []int{2}, 1<<30, 65537), from[int32](t, []int{2}, 4, 65537)}, []float64{0, 131073}},
		{"%a: i64[4], %b: i64[4]", "i64[4]", "div %a, %b", []*tensor.Tensor{from[int64](t, []int{4}, 7, -7, low, 7), from[int64](t, []int{4}, 2, 2, -1, -2)}, []float64{3, -3, low, -3}},
		{"%x: i32[2]", "i32[2]", "abs %x", []*tensor.Tensor{from[int32](t, []int{2}, math.MinInt32, -3)}, []float64{math.MinInt32, 3}},
		{"%x: i64[2]", "i64[2]", "neg %x", []*tensor.Tensor{from[int64](t, []int{2}, low, 3)}, []float64{low, -3}},
		{"%x: i32[3]", "i32[]", "sum %x", []*tensor.Tensor{from[int32](t, []int{3}, math.MaxInt32, 1, 5)}, []float64{math.MinInt32 + 5}},
		{"%a: f64[3], %b: f64[3]", "f64[3]", "maximum %a, %b", []*tensor.Tensor{from[float64](t, []int{3}, nan, 1, inf), from[float64](t, []int{3}, 1, nan, -inf)}, []float64{nan, nan, inf}},
		{"%x: f64[3]", "f64[]", "min %x", []*tensor.Tensor{from[float64](t, []int{3}, -inf, nan, 1)}, []float64{nan}},
		{"%x: f64[5]", "i64[]", "argmax %x {axis = 0}", []*tensor.Tensor{from[float64](t, []int{5}, 1, inf, nan, inf, nan)}, []float64{2}},
		{"%x: f64[4]", "i64[]", "argmin %x {axis = 0}", []*tensor.Tensor{from[float64](t, []int{4}, 1, 0, math.Copysign(0, -1), 5)}, []float64{1}},
		{"%x: f64[2,2]", "i64[2]", "argmax %x {axis = 0}", []*tensor.Tensor{from[float64](t, []int{2, 2}, 3, 4, 3, 5)}, []float64{0, 1}},
		{"%a: f64[3], %b: f64[3]", "bool[3]", "eq %a, %b", []*tensor.Tensor{from[float64](t, []int{3}, nan, 0, inf), from[float64](t, []int{3}, nan, math.Copysign(0, -1), inf)}, []float64{0, 1, 1}},
		{"%a: f64[2], %b: f64[2]", "bool[2]", "ne %a, %b", []*tensor.Tensor{from[float64](t, []int{2}, nan, 2), from[float64](t, []int{2}, nan, 2)}, []float64{1, 0}},
		{"%a: f64[2], %b: f64[2]", "bool[2]", "ge %a, %b", []*tensor.Tensor{from[float64](t, []int{2}, nan, 2), from[float64](t, []int{2}, 1, 2)}, []float64{0, 1}},
		{"%c: bool[2], %a: f64[2], %b: f64[]", "f64[2]", "where %c, %a, %b", []*tensor.Tensor{from(t, []int{2}, true, false), from[float64](t, []int{2}, 1, nan), from[float64](t, nil, 7.0)}, []float64{1, 7}},
		{"%x: f64[6]", "i32[6]", `cast %x {dtype = "i32"}`, []*tensor.Tensor{from[float64](t, []int{6}, nan, inf, -1e20, 2.9, -2.9, 0.5)}, []float64{0, math.MaxInt32, math.MinInt32, 2, -2, 0}},
		{"%x: f64[3]", "i64[3]", `cast %x {dtype = "i64"}`, []*tensor.Tensor{from[float64](t, []int{3}, 0x1p63, -0x1p63, 1e18)}, []float64{high, low, 1e18}},
		{"%x: i64[3]", "i32[3]", `cast %x {dtype = "i32"}`, []*tensor.Tensor{from[int64](t, []int{3}, 1<<40, -1<<40, 9)}, []float64{math.MaxInt32, math.MinInt32, 9}},
		{"%x: f64[3]", "bool[3]", `cast %x {dtype = "bool"}`, []*tensor.Tensor{from[float64](t, []int{3}, nan, math.Copysign(0, -1), 0.25)}, []float64{1, 0, 1}},
		{"%x: f64[3]", "f16[3]", `cast %x {dtype = "f16"}`, []*tensor.Tensor{from[float64](t, []int{3}, 65519.9, 65520, 1+0x1p-11+0x1p-40)}, []float64{65504, inf, 1 + 0x1p-10}},
		{"%x: i64[2]", "bf16[2]", `cast %x {dtype = "bf16"}`, []*tensor.Tensor{from[int64](t, []int{2}, 1<<62+1<<54+1, 257)}, []float64{0x1p62 + 0x1p55, 256}},
		{"%x: i64[1]", "f32[1]", `cast %x {dtype = "f32"}`, []*tensor.Tensor{from[int64](t, []int{1}, 1<<60+1<<36+1)}, []float64{0x1p60 + 0x1p37}},
		{"%x: f64[2]", "f64[4]", "pad %x {low = [1], high = [1], value = -inf}", []*tensor.Tensor{from[float64](t, []int{2}, 1, 2)}, []float64{-inf, 1, 2, -inf}},
		{"%a: f64[3], %b: f64[]", "f64[3]", "pow %a, %b", []*tensor.Tensor{from[float64](t, []int{3}, nan, -8, 2), from[float64](t, nil, 0.0)}, []float64{1, 1, 1}},
		{"%t: i64[3,2], %i: i32[2]", "i64[2,2]", "gather %t, %i", []*tensor.Tensor{from[int64](t, []int{3, 2}, 1, 2, 3, 4, 5, 6), from[int32](t, []int{2}, 2, 0)}, []float64{5, 6, 1, 2}},
		{"%t: f64[2,3], %i: i64[]", "f64[2]", "gather %t, %i {axis = 1}", []*tensor.Tensor{from[float64](t, []int{2, 3}, 1.0, 2, 3, 4, 5, 6), from[int64](t, nil, 1)}, []float64{2, 5}},
		{"%x: f64[2,2]", "f64[2,2]", "log_softmax %x", []*tensor.Tensor{from[float64](t, []int{2, 2}, -1e6, 0, inf, 0)}, []float64{-1e6, 0, nan, nan}},
		{"%x: f64[1,3]", "f64[1,3]", "layer_norm %x {eps = 0.0}", []*tensor.Tensor{from[float64](t, []int{1, 3}, 5.0, 5, 5)}, []float64{nan, nan, nan}},
	} {
		got, err := runNode(t.Context(), c.inputs, c.result, c.node, c.in...)
		if err != nil {
			t.Errorf("%s: %v", c.node, err)
			continue
		}
		t.Run(strings.ReplaceAll(c.node, "%", ""), func(t *testing.T) { wantElems(t, got, c.want...) })
	}
}

// TestRunErrors gives what only a run can find out.
func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		inputs, result, node string
		in                   []*tensor.Tensor
		want                 string
	}{
		{"%a: i64[2], %b: i64[2]", "i64[2]", "div %a, %b", []*tensor.Tensor{from[int64](t, []int{2}, 1, 2), from[int64](t, []int{2}, 1, 0)}, "div: integer division by zero"},
		{"%words: f32[4,2], %tokens: i64[2,2]", "f32[2,2,2]", "gather %words, %tokens", []*tensor.Tensor{random(t, 1, 4, 2), from[int64](t, []int{2, 2}, 0, 3, 4, 1)},
			"index 4 at position [1,0] of %tokens is out of range: dimension 0 of table %words has 4 entries"},
		{"%words: f32[4,2], %tokens: i32[1]", "f32[4,1]", "gather %words, %tokens {axis = 1}", []*tensor.Tensor{random(t, 1, 4, 2), from[int32](t, []int{1}, -1)},
			"index -1 at position [0] of %tokens is out of range: dimension 1 of table %words has 2 entries"},
	} {
		if _, err := runNode(t.Context(), c.inputs, c.result, c.node, c.in...); err == nil || err.Error() != c.want {
			t.Errorf("%s: got error %v, want %s", c.node, err, c.want)
		}
	}
}

// TestInferRejectsBasic gives what the elementwise, shape and index operators
// refuse.
func TestInferRejectsBasic(t *testing.T) {
	for _, c := range []struct{ inputs, node, want string }{
		{"%a: bool[2]", "add %a, %a", "operand %a has type bool; f32, f64, f16, bf16, i64 or i32 is needed"},
		{"%a: bool[2]", "lt %a, %a", "operand %a has type bool"},
		{"%a: f32[2]", "and %a, %a", "operand %a has type f32; bool is needed"},
		{"%a: i64[2]", "pow %a, %a", "operand %a has type i64; f32, f64, f16 or bf16 is needed"},
		{"%a: i64[2]", "mean %a", "operand %a has type i64"},
		{"%a: f32[2], %b: i64[2]", "eq %a, %b", "operands %a and %b have different types, f32 and i64; cast one of them"},
		{"%a: f32[2], %b: f32[3]", "lt %a, %b", "do not broadcast"},
		{"%c: f32[2]", "where %c, %c, %c", "operand %c has type f32; bool is needed"},
		{"%c: bool[2], %a: f32[2], %b: f64[2]", "where %c, %a, %b", "operands %a and %b have different types"},
		{"%x: f32[2]", `cast %x {dtype = "f8"}`, `attribute dtype is "f8"; it must be one of`},
		{"%x: f32[2]", "cast %x", "attribute dtype is missing"},
		{"%x: f32[2] on cuda:0, %b: f32[2] on cuda:1", "add %x, %b", "operands %x and %b are on different devices, cuda:0 and cuda:1"},
		{"%x: f32[0,2]", "min %x", "dimension 0 of f32[0,2] is empty; there is no largest or smallest of nothing"},
		{"%x: f32[2,0]", "argmax %x {axis = -1}", "dimension 1 of f32[2,0] is empty"},
		{"%x: f32[2]", "argmax %x", "attribute axis is missing"},
		{"%x: f32[2]", "argmax %x {axis = 1}", "axis 1 is out of range for rank 1; use -1 to 0"},
		{"%x: f32[]", "log_softmax %x", "axis -1 of a scalar, which has none"},
		{"%x: f32[2,3], %w: f32[2]", "rms_norm %x, %w", "weight %w has shape [2]; the normalised dimensions of %x are [3]"},
		{"%x: f32[2,3], %w: f32[3], %b: f32[2,3]", "layer_norm %x, %w, %b", "bias %b has shape [2,3]"},
		{"%x: f32[2,3], %w: f32[3]", "layer_norm %x, %w", "takes 1 or 3 operands, got 2: weight and bias go together"},
		{"%x: f32[2,3]", "layer_norm %x {eps = nan}", "eps is NaN; it must be finite and not negative"},
		{"%x: f32[2,3]", "rms_norm %x {eps = -1.0}", "eps is -1"},
		{"%x: f32[2,3], %i: f32[2]", "gather %x, %i", "operand %i has type f32; i64 or i32 is needed"},
		{"%x: f32[], %i: i64[2]", "gather %x, %i", "axis 0 of a scalar"},
		{"%x: f32[2,3], %b: f32[2,4]", "concat %x, %b {axis = 0}", "operands %x and %b differ in dimension 1, 3 and 4; only dimension 0 may differ"},
		{"%x: f32[2,3], %b: f32[3]", "concat %x, %b {axis = 0}", "operands %x and %b have different ranks, 2 and 1"},
		{"%x: f32[2], %b: i64[2]", "concat %x, %b {axis = 0}", "different types"},
		{"", "concat {axis = 0}", "needs at least one operand"},
		{"%x: f32[6]", "split %x {axis = 0, sizes = [2, 3]}", "sizes [2 3] do not add up to dimension 0 of f32[6]"},
		{"%x: f32[6]", "split %x {axis = 0, sizes = [7, -1]}", "sizes [7 -1] do not add up"},
		{"%x: f32[6]", "split %x {axis = 0, sizes = []}", "sizes names 0 pieces"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = 4, length = 3}", "elements 4 to 6 are out of range for dimension 0 of f32[6]"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = 7, length = 0}", "start 7 and length 0 are out of range"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = 1, length = 3, step = -1}", "elements 1 to -1 are out of range"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = 0, length = 2, step = 0}", "step is 0"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = 0, length = 6, step = 9223372036854775807}", "is longer than dimension 0"},
		{"%x: f32[6]", "narrow %x {axis = 0, start = -9223372036854775808, length = 1}", "out of range"},
		{"%x: f32[2,3]", "expand %x {shape = [3]}", "f32[2,3] does not expand to the smaller shape [3]"},
		{"%x: f32[2,3]", "expand %x {shape = [2, -3]}", "shape has the dimension -3"},
		{"%x: f32[2,3]", "expand %x {shape = [4, 3]}", "do not broadcast"},
		{"%x: f32[2]", "pad %x {low = [1], high = []}", "low has 1 and high 0 entries for rank 1"},
		{"%x: f32[2]", "pad %x {low = [-1], high = [0]}", "padding -1 and 0 of dimension 0 must be from 0"},
		{"%x: i32[2]", "pad %x {low = [0], high = [1], value = 0.5}", "value 0.5 is not an element of type i32"},
		{"%x: bool[2]", "pad %x {low = [0], high = [1], value = 2.0}", "value 2 is not an element of type bool"},
	} {
		if _, err := parseNode(c.inputs, "f32[1]", c.node); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %s", c.node, err, c.want)
		}
	}
}

// TestCanonical gives several spellings of one node, whose keys must be equal.
func TestCanonical(t *testing.T) {
	for canonical, others := range map[string][]string{
		"softmax %x {axis = 1}":                       {"softmax %x", "softmax %x {axis = -1}"},
		"sum %x {axes = [0, 1]}":                      {"sum %x", "sum %x {axes = [-1, 0]}", "sum %x {axes = [1, 0], keepdims = false}"},
		"transpose %x {perm = [1, 0]}":                {"transpose %x", "transpose %x {perm = [-1, -2]}"},
		"reshape %x {shape = [12]}":                   {"reshape %x {shape = [-1]}"},
		"narrow %x {axis = 0, length = 1, start = 2}": {"narrow %x {axis = -2, length = 1, start = -1, step = 1}"},
		"layer_norm %x {axis = 1}":                    {"layer_norm %x", "layer_norm %x {eps = 1e-05}"},
		"concat %x, %x {axis = 0}":                    {"concat %x, %x {axis = -2}"},
		"argmax %x {axis = 1}":                        {"argmax %x {axis = -1, keepdims = false}"},
	} {
		b := ir.NewBuilder(Registry, "f")
		x, err := b.Input("x", ir.F32(3, 4))
		if err != nil {
			t.Fatal(err)
		}
		number := map[*ir.Value]int{x: 0}
		keys := map[string]bool{}
		for _, text := range append(others, canonical) {
			name, _, _ := strings.Cut(text, " ")
			o, err := Registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			g, err := ir.Parse(Registry, "graph f(%x: f32[3,4]) {\n %y: "+resultOf(t, o, text)+" = "+text+"\n return %y\n}")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(g.String(), "= "+canonical+"\n") {
				t.Errorf("%s prints as\n%s, want %s", text, g, canonical)
			}
			keys[g.Nodes[0].Key(map[*ir.Value]int{g.Inputs[0]: number[x]})] = true
		}
		if len(keys) != 1 {
			t.Errorf("%s and %v have %d keys", canonical, others, len(keys))
		}
	}
}

// resultOf finds the result type of a node by parsing it with a wrong one.
func resultOf(t *testing.T, o *ir.Op, text string) string {
	t.Helper()
	_, err := ir.Parse(Registry, "graph f(%x: f32[3,4]) {\n %y: f32[7,7,7] = "+text+"\n return %y\n}")
	if err == nil {
		t.Fatalf("%s gives f32[7,7,7]", o.Name)
	}
	_, result, ok := strings.Cut(err.Error(), " gives ")
	if !ok {
		t.Fatal(err)
	}
	return result
}

// TestBasicCosts fixes the rules of cost.
func TestBasicCosts(t *testing.T) {
	for _, c := range []struct {
		inputs, result, node string
		want                 ir.Cost
	}{
		{"%x: f32[3,4]", "f32[3,4]", "gelu %x", ir.Cost{FLOPs: 8 * 12, Bytes: 2 * 48}},
		{"%x: f16[3,4]", "f16[3,4]", "silu %x", ir.Cost{FLOPs: 2 * 12, Bytes: 2 * 24}},
		{"%x: f32[3,4], %b: f32[4]", "bool[3,4]", "lt %x, %b", ir.Cost{FLOPs: 12, Bytes: 48 + 16 + 12}},
		{"%x: f32[3,4]", "f32[3,4]", "mul %x, %x", ir.Cost{FLOPs: 12, Bytes: 2 * 48}},
		{"%x: f32[3,4]", "i64[3,4]", `cast %x {dtype = "i64"}`, ir.Cost{Bytes: 48 + 96}},
		{"%x: f32[3,4]", "f32[4,3]", "transpose %x", ir.Cost{}},
		{"%x: f32[3,4]", "f32[2,3,4]", "expand %x {shape = [2, 3, 4]}", ir.Cost{}},
		{"%x: f32[3,4]", "f32[3,2]", "narrow %x {axis = 1, length = 2, start = 0}", ir.Cost{}},
		{"%x: f32[3,4]", "f32[3,4], %z: f32[3,0]", "split %x {axis = 1, sizes = [4, 0]}", ir.Cost{}},
		{"%x: f32[3,4]", "f32[6,4]", "concat %x, %x {axis = 0}", ir.Cost{Bytes: 48 + 96}},
		{"%x: f32[3,4], %i: i64[2]", "f32[2,4]", "gather %x, %i", ir.Cost{Bytes: 48 + 16 + 32}},
		{"%x: f32[3,4]", "f32[3]", "sum %x {axes = [1]}", ir.Cost{FLOPs: 12, Bytes: 48 + 12}},
		{"%x: f32[3,4]", "f32[3]", "mean %x {axes = [1]}", ir.Cost{FLOPs: 15, Bytes: 48 + 12}},
		{"%x: f32[3,4], %w: f32[4]", "f32[3,4]", "layer_norm %x, %w, %w", ir.Cost{FLOPs: 7 * 12, Bytes: 2*48 + 16}},
		{"%x: f32[3,4]", "f32[3,4]", "rms_norm %x", ir.Cost{FLOPs: 3 * 12, Bytes: 2 * 48}},
		{"%x: f32[3,4]", "f32[3,4]", "log_softmax %x", ir.Cost{FLOPs: 5 * 12, Bytes: 2 * 48}},
	} {
		g, err := parseNode(c.inputs, c.result, c.node)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Nodes[0].Cost(); got != c.want {
			t.Errorf("%s costs %+v, want %+v", c.node, got, c.want)
		}
	}
}
