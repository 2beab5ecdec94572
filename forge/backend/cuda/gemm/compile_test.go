package gemm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/tensor"
)

// prelude is what the kernels need of the text that package cuda puts before them.
const prelude = `#define INLINE_MEMBER __device__ __forceinline__
#define INLINE static __device__ __forceinline__
typedef int i32;
typedef long long i64;
typedef unsigned short u16;
`

// source is a file with kernels k0, k1, ....
func source(arch string, list []Kernel) nvrtc.Source {
	var b strings.Builder
	b.WriteString(prelude)
	seen := make(map[string]bool)
	for i, k := range list {
		for j, p := range k.Pieces {
			for _, s := range p.Shared {
				if !seen[s] {
					b.WriteString(s)
					seen[s] = true
				}
			}
			b.WriteString(strings.ReplaceAll(p.Text, "@kernel@", fmt.Sprintf("k%d_%d", i, j)))
		}
	}
	return nvrtc.Source{Name: "gemm.cu", Text: b.String(), Arch: arch}
}

func compiler(t testing.TB) *nvrtc.Compiler {
	t.Helper()
	c, err := nvrtc.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dense is a product of matrices that lie densely; along says that B is [N,K].
func dense(a, b, out tensor.DType, m, n, k int, along bool) *Shape {
	s := &Shape{M: m, N: n, K: k, A: Matrix{Elem: a, Row: k, Column: 1, Align: 256}, B: Matrix{Elem: b, Row: n, Column: 1, Align: 256}, Out: Matrix{Elem: out, Row: n, Column: 1, Align: 256}}
	if along {
		s.B.Row, s.B.Column = 1, k
	}
	return s
}
