package gemm

import (
	"errors"
	"fmt"
	"os"
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

func TestTry(t *testing.T) {
	c := compiler(t)
	var list []Kernel
	arch := "sm_90a"
	f, h := tensor.F32, tensor.BF16
	switch os.Getenv("TRY") {
	case "simt":
		for _, x := range simtTiles {
			list = append(list, dense(f, f, f, 4096, 4096, 4096, false).simt(x, 1))
		}
	case "mma":
		for _, x := range mmaTiles {
			list = append(list, dense(h, h, h, 4096, 4096, 4096, false).mma(x, 1))
		}
	case "wgmma":
		for _, x := range wgmmaTiles {
			list = append(list, dense(h, h, h, 4096, 4096, 4096, false).wgmma(x, 1))
			list = append(list, dense(h, h, h, 4096, 4096, 4096, true).wgmma(x, 1))
		}
	case "rows":
		for _, x := range rowsCuts {
			for _, along := range []bool{true, false} {
				s := dense(h, h, h, 1, 4096, 4096, along)
				if x.function != "rows_mma" {
					s = dense(f, h, f, 1, 4096, 4096, along)
				}
				if (x.function == "rows_along") != along && x.function != "rows_mma" {
					continue
				}
				list = append(list, s.rows(x))
			}
		}
	}
	src := source(arch, list)
	src.Options = []string{"--ptxas-options=-v"}
	for i, k := range list {
		t.Log(i, k.Name)
	}
	_, log, err := c.CompileLog(src)
	t.Log(log)
	if err != nil {
		t.Fatal(err)
	}
}
