package cpu_test

import (
	"strings"
	"sync"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestFaults gives programs indices and divisors that are errors of the run. Native
// code finds them, the error is the interpreter's to the letter, and the next run
// with good data is right.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		src       string
		good, bad [][]int64 // of the integer inputs, in order
	}{
		"row":       {"(%x: f32[5,40], %i: i64[3]) {\n %y: f32[3,40] = gather %x, %i", [][]int64{{0, 4, 2}}, [][]int64{{0, 1, 5}}},
		"negative":  {"(%x: f16[5,40], %i: i32[3]) {\n %y: f16[3,40] = gather %x, %i", [][]int64{{0, 4, 2}}, [][]int64{{-1, 1, 0}}},
		"far":       {"(%x: f32[5,40], %i: i64[1]) {\n %y: f32[1,40] = gather %x, %i", [][]int64{{3}}, [][]int64{{1 << 62}}},
		"element":   {"(%x: bool[5], %i: i64[21]) {\n %y: bool[21] = gather %x, %i", [][]int64{make([]int64, 21)}, [][]int64{append(make([]int64, 20), 7)}},
		"column":    {"(%x: f64[7,5], %i: i64[20]) {\n %y: f64[7,20] = gather %x, %i {axis = 1}", [][]int64{make([]int64, 20)}, [][]int64{append(make([]int64, 19), -3)}},
		"quotient":  {"(%a: i64[19], %b: i64[19]) {\n %y: i64[19] = div %a, %b", [][]int64{ones(19, 1), ones(19, 2)}, [][]int64{ones(19, 1), append(ones(18, 1), 0)}},
		"in place":  {"(%a: i32[40], %b: i32[40]) {\n %s: i32[40] = add %b, %b\n %y: i32[40] = div %a, %s", [][]int64{ones(40, 8), ones(40, 2)}, [][]int64{ones(40, 1), append(ones(39, 1), 0)}},
		"fused":     {"(%a: i32[7], %b: i32[7]) {\n %y: i32[7] = fused %a, %b (%u: i32[], %v: i32[]) {\n %q: i32[] = div %u, %v\n %r: i32[] = add %q, %v\n return %r\n }", [][]int64{ones(7, 8), ones(7, 2)}, [][]int64{ones(7, 1), append(ones(6, 1), 0)}},
		"rope":      {"(%x: f32[2,3,4,8], %p: i64[2]) {\n %y: f32[2,3,4,8] = rope %x, %p", [][]int64{{0, 9}}, [][]int64{{0, -1}}},
		"rope far":  {"(%x: bf16[3,4,8], %p: i64[]) {\n %y: bf16[3,4,8] = rope %x, %p", [][]int64{{2147483643}}, [][]int64{{2147483644}}},
		"append":    {"(%c: f32[2,1,8,3], %n: f32[2,1,4,3], %p: i64[2]) {\n %y: f32[2,1,8,3] = kv_append %c, %n, %p", [][]int64{{0, 4}}, [][]int64{{0, 5}}},
		"before":    {"(%c: f16[2,1,8,3], %n: f16[2,1,4,3], %p: i32[2]) {\n %y: f16[2,1,8,3] = kv_append %c, %n, %p", [][]int64{{0, 4}}, [][]int64{{0, -1}}},
		"length":    {"(%c: f32[2,1,8,3], %n: f32[2,1,4,3], %p: i64[2], %l: i64[2]) {\n %y: f32[2,1,8,3] = kv_append %c, %n, %p, %l", [][]int64{{0, 7}, {2, 8}}, [][]int64{{0, 7}, {2, 9}}},
		"padding":   {"(%c: f32[2,1,8,3], %n: f32[2,1,4,3], %p: i64[2], %l: i64[2]) {\n %y: f32[2,1,8,3] = kv_append %c, %n, %p, %l", [][]int64{{0, 8}, {2, 3}}, [][]int64{{0, 9}, {2, 3}}},
		"table":     {paged, [][]int64{{0, 1, 2, 3}, {0, 1}, {3, 4}}, [][]int64{{0, 1, 2, 5}, {0, 3}, {3, 7}}},
		"unread":    {paged, [][]int64{{0, 9, 2, 3}, {0, 4}, {3, 6}}, [][]int64{{0, 1, -1, 3}, {0, 4}, {3, 6}}},
		"collision": {paged, [][]int64{{0, 1, 0, 1}, {0, 4}, {3, 0}}, [][]int64{{0, 1, 0, 1}, {0, 2}, {3, 6}}},
		"full":      {paged, [][]int64{{0, 1, 2, 3}, {0, 5}, {3, 8}}, [][]int64{{0, 1, 2, 3}, {0, 9}, {3, 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, "graph f"+c.src+"\n return %y\n}")
			if err != nil {
				t.Fatal(err)
			}
			slow, fast := compile(t, interp.New(), g), compile(t, cpu.New(), g)
			for _, k := range fast.Kernels() {
				if strings.Contains(k.Kernel, "reference") {
					t.Fatalf("%s: %s", k.Value, k.Reason)
				}
			}
			good, bad := integerInputs(t, g, c.good), integerInputs(t, g, c.bad)
			for range 2 {
				_, want := slow.Run(t.Context(), bad...)
				_, got := fast.Run(t.Context(), bad...)
				if want == nil || got == nil || got.Error() != want.Error() {
					t.Errorf("got error %v\nwant %v", got, want)
				}
				x, y := run(t, slow, good)[0], run(t, fast, good)[0]
				if i := differs(x, y); i >= 0 {
					t.Errorf("element %d is %v, the interpreter has %v", i, y.Elem(i), x.Elem(i))
				}
			}
		})
	}
}

const paged = "(%c: bf16[4,2,4,3], %n: bf16[2,2,3,3], %t: i64[2,2], %p: i64[2], %l: i64[2]) {\n %y: bf16[4,2,4,3] = paged_kv_append %c, %n, %t, %p, %l"

func ones(n int, v int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// integerInputs are those of a graph with the given integers, in order.
func integerInputs(t *testing.T, g *ir.Graph, given [][]int64) []*tensor.Tensor {
	t.Helper()
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Rand(uint64(i+1), v.Spec.Shape...)
		if err == nil && (v.Spec.DType == tensor.I64 || v.Spec.DType == tensor.I32) {
			x, err = tensor.From(v.Spec.Shape, given[0])
			given = given[1:]
		}
		if err == nil {
			x, err = x.Convert(v.Spec.DType)
		}
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, x)
	}
	return in
}

// TestOwnMemory runs a program whose kernels have memory of their own, and some of
// whose runs fault, on several goroutines at once.
func TestOwnMemory(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph f(%q: i64[], "+paged[1:]+"\n %z: bf16[4,2,4,3] = rope %y, %q {dims = 2}\n return %z\n}")
	if err != nil {
		t.Fatal(err)
	}
	exe := compile(t, cpu.New(), g)
	good := integerInputs(t, g, [][]int64{{7}, {0, 1, 2, 3}, {0, 1}, {3, 4}})
	bad := integerInputs(t, g, [][]int64{{7}, {0, 1, 0, 1}, {0, 2}, {3, 6}})
	want := run(t, compile(t, interp.New(), g), good)[0]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if i%3 == 0 {
					if _, err := exe.Run(t.Context(), bad...); err == nil || !strings.Contains(err.Error(), "both write place") {
						t.Errorf("got error %v", err)
					}
					continue
				}
				out, err := exe.Run(t.Context(), good...)
				if err != nil {
					t.Error(err)
				} else if k := differs(out[0], want); k >= 0 {
					t.Errorf("element %d is %v, the interpreter has %v", k, out[0].Elem(k), want.Elem(k))
				}
			}
		})
	}
	wg.Wait()
}
