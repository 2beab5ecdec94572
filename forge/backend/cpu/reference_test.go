package cpu

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// references are the operators of which some case of the conformance suite has no
// kernel, with the element types of those cases. It may only become shorter.
var references = map[string]string{
	// Templates that a nest does not cover.
	"conv2d": "f64",
	"linear": "f64",
	// Attention computes in f32.
	"sdpa": "f64", "cached_attention": "f64", "paged_attention": "f64",
	// Polynomials of package mathf, which are for f32. In f64 results are to equal
	// those of package math.
	"exp": "f64", "log": "f64", "sin": "f64", "cos": "f64", "pow": "f64", "tanh": "f64", "sigmoid": "f64", "erf": "f64", "silu": "f64", "gelu": "f64",
	"softmax": "f64", "log_softmax": "f64", "rope": "f64",
	"atan": "f64",
	// Products and running sums go in order, and the others are no nests: an element
	// goes where others decide.
	"prod": "f32 f64 f16 bf16 i64 i32", "cumsum": "f32 f64 f16 bf16 i64 i32", "top_k": "f32 f64 f16 bf16 i64 i32", "scatter": "f32 f64 f16 bf16 i64 i32",
	// Sums in f64 are to equal the reference, which adds in an order of its own.
	"sum": "f64", "mean": "f64", "avg_pool2d": "f64", "layer_norm": "f64", "rms_norm": "f64",
}

// TestReferences keeps the list of what has no kernel exact.
func TestReferences(t *testing.T) {
	found := make(map[string]map[tensor.DType]bool)
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		p, err := New().lower(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.steps {
			if s.kernel != nil {
				continue
			}
			if found[s.node.Op.Name] == nil {
				found[s.node.Op.Name] = make(map[tensor.DType]bool)
			}
			found[s.node.Op.Name][s.node.In[0].Spec.DType] = true
		}
	}
	for name, types := range found {
		var list []string
		for _, d := range slices.Sorted(maps.Keys(types)) {
			list = append(list, d.String())
		}
		if got := strings.Join(list, " "); got != references[name] {
			t.Errorf("%s has no kernel in %s; expected is %q", name, got, references[name])
		}
	}
	for name := range references {
		if found[name] == nil {
			t.Errorf("%s has kernels for all cases; take it out of the list", name)
		}
	}
}

// TestReasons looks at what a program is told of a node without a kernel.
func TestReasons(t *testing.T) {
	for src, want := range map[string]string{
		"(%x: f64[4]) {\n %y: f64[4] = exp %x":                                                                "exp of f64 has no scalar form: its elementary function exists in f32 only",
		"(%x: f64[4]) {\n %y: f64[] = sum %x":                                                                 "sum in f64 is the reference itself",
		"(%x: f32[2,2,4], %p: i64[2]) {\n %y: f32[2,2,4] = rope %x, %p {base = 1e-12}":                        "the frequencies of rope are too large for the polynomials",
		"(%q: f32[1,1,8,9000], %v: f32[1,1,4,2], %k: f32[1,1,4,9000]) {\n %y: f32[1,1,8,2] = sdpa %q, %k, %v": "attention to heads of 9000 and 2 channels needs 706 KiB of temporaries; the limit is 512 KiB",
		"(%c: f32[1,1,4,2], %n: f32[1,1,0,2], %p: i64[]) {\n %y: f32[1,1,4,2] = kv_append %c, %n, %p":         "there is nothing to append; only the positions are checked",
	} {
		g, err := ir.Parse(op.Registry, "graph f"+src+"\n return %y\n}")
		if err != nil {
			t.Fatal(err)
		}
		p, err := New().lower(g)
		if err != nil {
			t.Fatal(err)
		}
		if k := p.kernels[0]; !strings.HasSuffix(k.Kernel, ", reference") || k.Reason != want {
			t.Errorf("%s runs as %q: %q, want %q", src, k.Kernel, k.Reason, want)
		}
	}
}
