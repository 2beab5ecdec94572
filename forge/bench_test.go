package forge_test

import (
	"os"
	"testing"

	"forgekernel/forge"
)

// BenchmarkCall is the cost of a call whose program is compiled, on a tensor
// of one element.
func BenchmarkCall(b *testing.B) {
	fns, err := forge.Define("def f(x): return relu(x)\n")
	if err != nil {
		b.Fatal(err)
	}
	x := forge.Scalar(1)
	for b.Loop() {
		fns[0](x)
	}
}

// BenchmarkCompile is the time from source text to a program.
func BenchmarkCompile(b *testing.B) {
	source, err := os.ReadFile("../notebooks/programs/layernorm.fs")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := forge.Compile(string(source)); err != nil {
			b.Fatal(err)
		}
	}
}
