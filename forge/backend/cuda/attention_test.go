package cuda

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// onEach runs a program with every candidate of the node that makes the value, and
// compares with float64. Norms of differences may be limit of those of results.
func onEach(t *testing.T, b *Backend, source, value string, limit float64, in []*tensor.Tensor) {
	t.Helper()
	g, err := ir.Parse(op.Registry, source)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := interp.Reference().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	want, err := reference.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	for i, count := 0, 1; i < count; i++ {
		one, name := *b, ""
		one.Select = func(n *ir.Node, list []Candidate) (int, string) {
			if n.Out[0].Name != value {
				return 0, ""
			}
			count = len(list) - 1 // the last is a loop nest, which attention has none of
			name = list[i].Name
			return i, "it is tested"
		}
		exe, err := one.Compile(t.Context(), g)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := exe.Run(t.Context(), in...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for k := range want {
			if e := apart(got[k], want[k]); !(e <= limit) {
				t.Errorf("%s: output %d is %.3g from the reference; the limit is %.3g in\n%s", name, k, e, limit, source)
			}
		}
	}
}

// apart is the norm of a difference relative to that of want.
func apart(got, want *tensor.Tensor) float64 {
	var d, n float64
	for i := range want.Len() {
		x, y := got.Elem(i), want.Elem(i)
		d, n = d+(x-y)*(x-y), n+y*y
	}
	return math.Sqrt(d / max(n, 1e-30))
}

// limits are those of results in a type.
var limits = map[tensor.DType]float64{tensor.F32: 2e-6, tensor.F64: 1e-13, tensor.F16: 1e-3, tensor.BF16: 6e-3}

func randomInputs(t *testing.T, source string, integers map[string][]int64) []*tensor.Tensor {
	t.Helper()
	g, err := ir.Parse(op.Registry, source)
	if err != nil {
		t.Fatal(err)
	}
	var list []*tensor.Tensor
	for i, v := range g.Inputs {
		var x *tensor.Tensor
		if given, is := integers[v.Name]; is {
			x, err = tensor.From(v.Spec.Shape, given)
		} else {
			x, err = tensor.Rand(uint64(i+1), v.Spec.Shape...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if x, err = x.Convert(v.Spec.DType); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// TestAttentionCandidates compares all kernels of attention on shapes that have several
// blocks of rows and keys.
func TestAttentionCandidates(t *testing.T) {
	b := device(t)
	t.Parallel()
	for d, limit := range limits {
		for _, c := range []struct {
			h, g, q, keys, d int
			mask, attrs      string
		}{
			{4, 2, 200, 200, 64, "", "{causal = true}"},
			{2, 2, 130, 130, 128, "", "{causal = true}"},
			{8, 1, 5, 300, 128, "", ""},
			{4, 4, 150, 90, 128, "", ""},
			{3, 1, 140, 140, 80, "1,1,1,140", ""},
			{4, 2, 129, 129, 64, "4,129,129", ""},
			{2, 1, 70, 140, 64, "70,140", "{strict = true}"},
			{1, 1, 65, 65, 192, "", "{causal = true}"},
		} {
			mask, operand := "", ""
			if c.mask != "" {
				mask, operand = fmt.Sprintf(", %%m: %v[%s]", d, c.mask), ", %m"
			}
			source := fmt.Sprintf("graph f(%%q: %[1]v[2,%[2]d,%[4]d,%[6]d], %%k: %[1]v[2,%[3]d,%[5]d,%[6]d], %%v: %[1]v[2,%[3]d,%[5]d,%[6]d]%[7]s) {\n %%y: %[1]v[2,%[2]d,%[4]d,%[6]d] = sdpa %%q, %%k, %%v%[8]s %[9]s\n return %%y\n}",
				d, c.h, c.g, c.q, c.keys, c.d, mask, operand, c.attrs)
			t.Run(fmt.Sprintf("%v/%d_%d_%d_%d_%d", d, c.h, c.g, c.q, c.keys, c.d), func(t *testing.T) {
				t.Parallel()
				onEach(t, b, source, "y", limit, randomInputs(t, source, nil))
			})
		}
	}
}

// TestExcludedValues sees that values which are no numbers change nothing of the rows that
// do not see them.
func TestExcludedValues(t *testing.T) {
	b := device(t)
	for d := range limits {
		source := fmt.Sprintf("graph f(%%q: %[1]v[1,4,100,64], %%k: %[1]v[1,2,100,64], %%v: %[1]v[1,2,100,64]) {\n %%y: %[1]v[1,4,100,64] = sdpa %%q, %%k, %%v {causal = true}\n return %%y\n}", d)
		in := randomInputs(t, source, nil)
		for c := range 64 {
			in[2].SetElem(60*64+c, math.NaN())
			in[2].SetElem((100+90)*64+c, math.Inf(1))
		}
		exe, err := b.Compile(t.Context(), parse(t, source))
		if err != nil {
			t.Fatal(err)
		}
		out, err := exe.Run(t.Context(), in...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out[0].Len() {
			row, head := i/64%100, i/6400
			touched := head < 2 && row >= 60 || head >= 2 && row >= 90
			if x := out[0].Elem(i); (x-x == 0) == touched {
				t.Fatalf("%v: head %d, row %d has %v", d, head, row, x)
			}
		}
	}
}

func parse(t testing.TB, source string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, source)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// decodeSource is a step of a decoder from new projections to attention.
func decodeSource(d tensor.DType, rows, tokens, heads, groups, channels int) string {
	return fmt.Sprintf(`graph step(%%x: f32[%[2]d,%[3]d,%[7]d], %%k: %[1]v[40,%[5]d,16,%[6]d], %%v: %[1]v[40,%[5]d,16,%[6]d], %%table: i32[%[2]d,16], %%pos: i32[%[2]d], %%length: i32[%[2]d]) {
  %%0: f32[%[2]d,%[3]d,%[8]d] = narrow %%x {axis = 2, start = 0, length = %[8]d}
  %%1: f32[%[2]d,%[3]d,%[4]d,%[6]d] = reshape %%0 {shape = [%[2]d,%[3]d,%[4]d,%[6]d]}
  %%2: f32[%[2]d,%[4]d,%[3]d,%[6]d] = transpose %%1 {perm = [0,2,1,3]}
  %%3: f32[%[2]d,%[4]d,%[3]d,%[6]d] = rope %%2, %%pos
  %%4: %[1]v[%[2]d,%[4]d,%[3]d,%[6]d] = cast %%3 {dtype = "%[1]v"}
  %%5: f32[%[2]d,%[3]d,%[9]d] = narrow %%x {axis = 2, start = %[8]d, length = %[9]d}
  %%6: f32[%[2]d,%[3]d,%[5]d,%[6]d] = reshape %%5 {shape = [%[2]d,%[3]d,%[5]d,%[6]d]}
  %%7: f32[%[2]d,%[5]d,%[3]d,%[6]d] = transpose %%6 {perm = [0,2,1,3]}
  %%8: f32[%[2]d,%[5]d,%[3]d,%[6]d] = rope %%7, %%pos
  %%9: %[1]v[%[2]d,%[5]d,%[3]d,%[6]d] = cast %%8 {dtype = "%[1]v"}
  %%k1: %[1]v[40,%[5]d,16,%[6]d] = paged_kv_append %%k, %%9, %%table, %%pos, %%length
  %%10: f32[%[2]d,%[3]d,%[9]d] = narrow %%x {axis = 2, start = %[10]d, length = %[9]d}
  %%11: f32[%[2]d,%[3]d,%[5]d,%[6]d] = reshape %%10 {shape = [%[2]d,%[3]d,%[5]d,%[6]d]}
  %%12: f32[%[2]d,%[5]d,%[3]d,%[6]d] = transpose %%11 {perm = [0,2,1,3]}
  %%13: %[1]v[%[2]d,%[5]d,%[3]d,%[6]d] = cast %%12 {dtype = "%[1]v"}
  %%v1: %[1]v[40,%[5]d,16,%[6]d] = paged_kv_append %%v, %%13, %%table, %%pos, %%length
  %%a: %[1]v[%[2]d,%[4]d,%[3]d,%[6]d] = paged_attention %%4, %%k1, %%v1, %%table, %%pos, %%length
  %%14: %[1]v[%[2]d,%[3]d,%[4]d,%[6]d] = transpose %%a {perm = [0,2,1,3]}
  %%15: %[1]v[%[2]d,%[3]d,%[8]d] = reshape %%14 {shape = [%[2]d,%[3]d,%[8]d]}
  %%16: f32[%[2]d,%[3]d,%[8]d] = cast %%15 {dtype = "f32"}
  %%17: f32[%[2]d,%[3]d,%[8]d] = tanh %%16
  return %%17, %%k1, %%v1
}`, d, rows, tokens, heads, groups, channels, (heads+2*groups)*channels, heads*channels, groups*channels, (heads+groups)*channels)
}

// contiguousSource is the same with a cache of 256 positions for each row.
func contiguousSource(d tensor.DType, rows, tokens, heads, groups, channels int) string {
	return strings.NewReplacer(
		fmt.Sprintf("[40,%d,16,%d]", groups, channels), fmt.Sprintf("[%d,%d,256,%d]", rows, groups, channels),
		fmt.Sprintf(", %%table: i32[%d,16]", rows), "", ", %table, %pos", ", %pos",
		"paged_kv_append", "kv_append", "paged_attention", "cached_attention",
	).Replace(decodeSource(d, rows, tokens, heads, groups, channels))
}

// decodeIntegers are positions and blocks of two rows.
func decodeIntegers(rows, tokens int) map[string][]int64 {
	table := make([]int64, 16*rows)
	for i := range table {
		table[i] = int64((i*7 + 3) % 40)
	}
	pos, length := []int64{37, 100}[:rows], []int64{0, 0}[:rows]
	for i := range pos {
		length[i] = pos[i] + int64(tokens) - int64(i)
	}
	return map[string][]int64{"table": table, "pos": pos, "length": length}
}

// TestDecodeStep compares a step in which one kernel turns and appends, and attention
// widens its result, with float64.
func TestDecodeStep(t *testing.T) {
	b := device(t)
	t.Parallel()
	for d, limit := range limits {
		if d == tensor.F64 {
			continue // its cast rounds to f32 and is none
		}
		for _, c := range []struct{ rows, tokens, heads, groups, channels int }{
			{1, 1, 8, 2, 64}, {1, 1, 8, 1, 128}, {1, 1, 40, 2, 64}, {2, 1, 8, 2, 128}, {2, 3, 4, 4, 64}, {1, 5, 6, 3, 24}, {2, 40, 8, 2, 64},
		} {
			source := decodeSource(d, c.rows, c.tokens, c.heads, c.groups, c.channels)
			t.Run(fmt.Sprintf("%v/%+v", d, c), func(t *testing.T) {
				t.Parallel()
				onEach(t, b, source, "a", max(limit, 1e-5), randomInputs(t, source, decodeIntegers(c.rows, c.tokens)))
				source := contiguousSource(d, c.rows, c.tokens, c.heads, c.groups, c.channels)
				onEach(t, b, source, "a", max(limit, 1e-5), randomInputs(t, source, decodeIntegers(c.rows, c.tokens)))
			})
		}
	}
}

// TestDecodeFaults sees that positions and tables which are wrong read as they do on the
// interpreter: of rows with several tokens, and of one token that attention appends itself.
func TestDecodeFaults(t *testing.T) {
	for name, change := range map[string]func(in map[string][]int64){
		"none":             func(map[string][]int64) {},
		"pos below 0":      func(in map[string][]int64) { in["pos"][1] = -1 },
		"pos beyond":       func(in map[string][]int64) { in["pos"][0] = 257 },
		"length beyond":    func(in map[string][]int64) { in["length"][0] = 300 },
		"up to the end":    func(in map[string][]int64) { in["pos"][0], in["length"][0] = 254, 256 },
		"block beyond":     func(in map[string][]int64) { in["table"][1] = 40 },
		"block below 0":    func(in map[string][]int64) { in["table"][16+6] = -3 },
		"block never read": func(in map[string][]int64) { in["table"][15] = 99 },
		"two rows, one place": func(in map[string][]int64) {
			in["pos"][1], in["length"][1], in["table"][16+2] = 37, 40, in["table"][2]
		},
	} {
		t.Run(name, func(t *testing.T) {
			right := slices.Contains([]string{"none", "up to the end", "block never read"}, name)
			sameFault(t, 2, 3, right, change)
		})
	}
	for name, change := range map[string]func(in map[string][]int64){
		"none":             func(map[string][]int64) {},
		"pos below 0":      func(in map[string][]int64) { in["pos"][0] = -1 },
		"pos beyond":       func(in map[string][]int64) { in["pos"][0], in["length"][0] = 256, 257 },
		"length beyond":    func(in map[string][]int64) { in["length"][0] = 300 },
		"up to the end":    func(in map[string][]int64) { in["pos"][0], in["length"][0] = 255, 256 },
		"padding":          func(in map[string][]int64) { in["length"][0] = in["pos"][0] },
		"block beyond":     func(in map[string][]int64) { in["table"][2] = 40 },
		"block below 0":    func(in map[string][]int64) { in["table"][0] = -3 },
		"block never read": func(in map[string][]int64) { in["table"][15] = 99 },
	} {
		t.Run("one token/"+name, func(t *testing.T) {
			right := slices.Contains([]string{"none", "up to the end", "padding", "block never read"}, name)
			sameFault(t, 1, 1, right, change)
		})
	}
}

// sameFault runs a decode with changed positions and tables, on a GPU and on the
// interpreter.
func sameFault(t *testing.T, rows, tokens int, right bool, change func(in map[string][]int64)) {
	t.Helper()
	b := device(t)
	source := decodeSource(tensor.BF16, rows, tokens, 4, 2, 64)
	exe, err := b.Compile(t.Context(), parse(t, source))
	if err != nil {
		t.Fatal(err)
	}
	other, err := interp.New().Compile(t.Context(), exe.Graph()) // in the order of the plan
	if err != nil {
		t.Fatal(err)
	}
	integers := decodeIntegers(rows, tokens)
	change(integers)
	in := randomInputs(t, source, integers)
	_, failed := exe.Run(t.Context(), in...)
	_, wanted := other.Run(t.Context(), in...)
	if fmt.Sprint(failed) != fmt.Sprint(wanted) {
		t.Errorf("%v, want %v", failed, wanted)
	}
	if right != (wanted == nil) {
		t.Errorf("the case is not what its name says: %v", wanted)
	}
}

// TestDecodeTwice sees that a block which a table names twice has the new token in both
// places.
func TestDecodeTwice(t *testing.T) {
	b := device(t)
	source := decodeSource(tensor.BF16, 1, 1, 8, 2, 64)
	for _, first := range []int{3, 2, 0} { // entry of the table with the block of the position
		integers := decodeIntegers(1, 1)
		integers["table"][first] = integers["table"][2]
		onEach(t, b, source, "a", limits[tensor.BF16], randomInputs(t, source, integers))
	}
}
