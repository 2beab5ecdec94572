package op

import (
	"fmt"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestBroadcast is NumPy's table of broadcast shapes; "" means that NumPy
// refuses the pair.
func TestBroadcast(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want string
	}{
		{nil, nil, "[]"},
		{nil, []int{3}, "[3]"},
		{[]int{1}, []int{3}, "[3]"},
		{[]int{3}, []int{1}, "[3]"},
		{[]int{2}, []int{3}, ""},
		{[]int{256, 256, 3}, []int{3}, "[256,256,3]"},
		{[]int{8, 1, 6, 1}, []int{7, 1, 5}, "[8,7,6,5]"},
		{[]int{5, 4}, []int{1}, "[5,4]"},
		{[]int{5, 4}, []int{4}, "[5,4]"},
		{[]int{15, 3, 5}, []int{15, 1, 5}, "[15,3,5]"},
		{[]int{15, 3, 5}, []int{3, 5}, "[15,3,5]"},
		{[]int{15, 3, 5}, []int{3, 1}, "[15,3,5]"},
		{[]int{2, 1}, []int{8, 4, 3}, ""},
		{[]int{0}, []int{1}, "[0]"},
		{[]int{0}, []int{2}, ""},
		{[]int{3, 0}, []int{1, 1}, "[3,0]"},
		{[]int{1, 1, 1}, []int{2}, "[1,1,2]"},
	} {
		for _, pair := range [][2][]int{{c.a, c.b}, {c.b, c.a}} {
			shape, err := Broadcast(pair[0], pair[1])
			got := ""
			if err == nil {
				got = tensor.FormatShape(shape)
			}
			if got != c.want {
				t.Errorf("Broadcast(%v, %v) = %s, want %s", pair[0], pair[1], got, c.want)
			}
		}
	}
}

// TestWalker compares loads of every length and start with indexing.
func TestWalker(t *testing.T) {
	out := []int{3, 4, 5}
	for _, in := range [][]int{{3, 4, 5}, {1}, {}, {5}, {4, 1}, {4, 5}, {3, 1, 5}, {3, 1, 1}, {1, 4, 1}} {
		src := make([]float32, product(in))
		for i := range src {
			src[i] = float32(i)
		}
		strides := broadcastStrides(in, out)
		want := func(pos int) float32 {
			off := 0
			for d := len(out) - 1; d >= 0; d-- {
				off += pos % out[d] * strides[d]
				pos /= out[d]
			}
			return src[off]
		}
		w := newWalker(in, out)
		for lo := range 60 {
			for hi := lo; hi <= 60; hi++ {
				for i, v := range load(&w, src, make([]float32, 60), lo, hi) {
					if v != want(lo+i) {
						t.Fatalf("%v in %v: position %d of [%d,%d) is %v, want %v", in, out, lo+i, lo, hi, v, want(lo+i))
					}
				}
			}
		}
	}
}

func TestWalkerMergesDimensions(t *testing.T) {
	for _, c := range []struct {
		in, out []int
		runs    int
	}{
		{[]int{4, 5}, []int{3, 4, 5}, 2}, {[]int{3, 1, 1}, []int{3, 4, 5}, 2}, {nil, []int{3, 4, 5}, 1}, {[]int{4, 1}, []int{3, 4, 5}, 3},
	} {
		if w := newWalker(c.in, c.out); len(w.dims) != c.runs {
			t.Errorf("%v in %v walks %d dimensions, want %d", c.in, c.out, len(w.dims), c.runs)
		}
	}
}

func TestSignature(t *testing.T) {
	for name, want := range map[string]string{
		"add": "add(a, b)", "softmax": "softmax(x, axis=-1)", "sum": "sum(x, [axes], keepdims=false)",
		"reshape": "reshape(x, shape)", "fused": "fused(x...)", "const": "const(value)",
	} {
		o, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Signature(o); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestBodyReusesVectors checks that a chain of any length needs two vectors
// beside its operands, also when an operand is read late.
func TestBodyReusesVectors(t *testing.T) {
	body := "graph f(%x: f32[9]) {\n  %y: f32[9] = fused %x (%a: f32[]) {\n    %v0: f32[] = exp %a\n"
	const steps = 50
	for i := 1; i <= steps; i++ {
		body += fmt.Sprintf("    %%v%d: f32[] = add %%v%d, %%a\n", i, i-1)
	}
	body += fmt.Sprintf("    return %%v%d\n  }\n  return %%y\n}", steps)
	g, err := ir.Parse(Registry, body)
	if err != nil {
		t.Fatal(err)
	}
	if p := bodyProgram[float32](g.Nodes[0]); p.vectors > 3 || len(p.steps) != steps+1 {
		t.Errorf("%d steps use %d vectors", len(p.steps), p.vectors)
	}
}
