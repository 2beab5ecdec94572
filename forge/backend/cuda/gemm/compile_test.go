package gemm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
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
#define ENTER
#define READY
#define AWAIT
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

// targets are devices of the architectures that kernels are for.
var targets = map[string]Target{
	"sm_75": {75, 72, 64 << 10}, "sm_80": {80, 108, 163 << 10}, "sm_86": {86, 84, 99 << 10}, "sm_89": {89, 142, 99 << 10}, "sm_90": {90, 132, 227 << 10},
}

// TestCompile compiles the first candidates of some shapes for every architecture, and sees
// that those of large products keep their sums in registers.
func TestCompile(t *testing.T) {
	c := compiler(t)
	large := []*Shape{dense(f32, f32, f32, 4096, 4096, 4096, false), dense(f16, f16, f16, 4096, 4096, 4096, true), dense(bf16, bf16, bf16, 4096, 4096, 4096, false)}
	others := []*Shape{
		dense(f32, bf16, f32, 1, 4096, 4096, false), dense(f32, bf16, f32, 4, 4096, 4096, true), dense(bf16, bf16, bf16, 16, 4096, 4096, false),
		dense(f16, f16, f16, 16, 4096, 4096, true), dense(f32, f32, f32, 33, 77, 133, false), dense(f16, f16, f16, 131, 77, 133, false), dense(bf16, bf16, bf16, 64, 512, 256, true),
	}
	for arch, target := range targets {
		t.Run(arch, func(t *testing.T) {
			var list []Kernel
			for _, s := range large {
				list = append(list, Candidates(s, target)[:2]...)
			}
			few := len(list)
			for _, s := range others {
				list = append(list, Candidates(s, target)[0])
			}
			if target.Capability == 90 {
				arch += "a"
			}
			src := source(arch, list)
			src.Options = append(src.Options, "--ptxas-options=-v")
			_, log, err := c.CompileLog(src)
			if err != nil {
				t.Fatal(err)
			}
			checkSpills(t, log, list[:few])
		})
	}
}

// checkSpills allows as many bytes as a few registers have.
func checkSpills(t *testing.T, log string, list []Kernel) {
	t.Helper()
	said := make(map[string]int)
	for _, m := range regexp.MustCompile(`Function properties for (\w+)\s*\n[^\n]* (\d+) bytes spill stores`).FindAllStringSubmatch(log, -1) {
		said[m[1]], _ = strconv.Atoi(m[2])
	}
	for i, k := range list {
		bytes, told := said[fmt.Sprintf("k%d_0", i)]
		if !told || bytes > 64 {
			t.Errorf("%s spills %d bytes (told: %v)", k.Name, bytes, told)
		}
	}
}

// TestText pins the text of a small kernel.
func TestText(t *testing.T) {
	s := dense(f32, bf16, f32, 3, 40, 64, false)
	s.Batch = []int{2, 5}
	s.A.Batch, s.B.Batch, s.Out.Batch = []int{960, 192}, []int{0, 2560}, []int{600, 120}
	s.Finish = Finish{Params: []string{"const float *p3"}, Body: "    return sum + p3[n];"}
	got := s.direct(directCut{4, 4, 4, 8, 2}).Pieces[0].Text
	want := `struct @kernel@_product {
  const float *p3;
  typedef float A; typedef gemm::bf16_t B; typedef float Out;
  static constexpr int M = 3;
  static constexpr int N = 40;
  static constexpr int K = 64;
  static constexpr int batches = 10;
  static constexpr i64 a_m = 64, a_k = 1, b_k = 40, b_n = 1, o_m = 40;
  INLINE_MEMBER static i64 a_at(int z) {
    return 0 + (i64)(z / 1 % 5) * 192 + (i64)(z / 5 % 2) * 960;
  }
  INLINE_MEMBER static i64 b_at(int z) {
    return 0 + (i64)(z / 1 % 5) * 2560;
  }
  INLINE_MEMBER static i64 o_at(int z) {
    return 0 + (i64)(z / 1 % 5) * 120 + (i64)(z / 5 % 2) * 600;
  }
  INLINE_MEMBER static A a_get(const A *a, int k, int m) { return a[k * a_k + m * a_m]; }
  INLINE_MEMBER static B b_get(const B *b, int k, int n) { return b[k * b_k + n * b_n]; }
  static constexpr bool o_pairs = true;
  static constexpr bool o_eights = true;
  INLINE_MEMBER float finish(float sum, int z, i64 m, i64 n) const {
    const i64 i1 = z / 1 % 5;
    const i64 i0 = z / 5 % 2;
    return sum + p3[n];
  }
  static constexpr bool a_along = true;
  static constexpr bool a_whole = true;
  static constexpr bool b_along = false;
  static constexpr bool b_whole = true;
  static constexpr int BM = 16;
  static constexpr int BN = 32;
  static constexpr int TM = 4;
  static constexpr int TN = 4;
  static constexpr int LM = 4;
  static constexpr int threads = 256;
  static constexpr int unroll = 2;
  static constexpr int slices = 1;
  static constexpr bool enters = false;
};
extern "C" __global__ void __launch_bounds__(256, 1) @kernel@(float *out, const float *a, const gemm::bf16_t *b, const float *p3, int *fault, int step) {
  extern __shared__ __align__(1024) char gemm_memory[];
  gemm::direct(@kernel@_product{p3}, out, a, b, gemm_memory);
}
`
	if got != want {
		t.Errorf("the text is\n%s", got)
	}
}

// TestSlicing sees that slices are whole units, all but the last of one size, and cover k.
func TestSlicing(t *testing.T) {
	for _, unit := range []int{8, 16, 32, 64} {
		for k := 1; k < 3000; k += 37 {
			for slices := 1; slices <= 40; slices++ {
				each, count := slicing(k, slices, unit)
				if each%unit != 0 || each < unit || count > slices || (count-1)*each >= k || count*each < k {
					t.Fatalf("k %d in %d slices of units of %d: %d of %d", k, slices, unit, count, each)
				}
			}
		}
	}
}

// FuzzCandidates sees that every kernel of every shape can be launched: grids and shared
// memory are within the limits of devices, and the memory that it asks for is not negative.
func FuzzCandidates(f *testing.F) {
	f.Add(1, 4096, 4096, 1, uint8(0), uint8(16))
	f.Add(8, 32064, 2048, 1, uint8(6), uint8(4))
	f.Add(4096, 4096, 4096, 3, uint8(3), uint8(16))
	f.Add(1<<20, 1, 1, 2, uint8(1), uint8(2))
	f.Add(7, 3, 1<<22, 65535, uint8(4), uint8(8))
	f.Fuzz(func(t *testing.T, m, n, k, batches int, kinds, align uint8) {
		if min(m, n, k, batches) < 1 || max(m, n, k) > 1<<22 || batches > MaxBatches || m*n > 1<<31 || m*k > 1<<31 || k*n > 1<<31 || batches*max(m*n, m*k, k*n) > 1<<33 {
			return
		}
		types := []tensor.DType{f32, f16, bf16}
		a := types[kinds%3]
		b := a
		if a == f32 {
			b = types[kinds/3%3]
		}
		s := dense(a, b, a, m, n, k, kinds/9%2 == 1)
		s.Batch = []int{batches}
		s.A.Batch, s.B.Batch, s.Out.Batch = []int{m * k}, []int{0}, []int{m * n}
		s.A.Align, s.B.Align = int(align)&63, int(align)&63
		for arch, target := range targets {
			for _, kernel := range Candidates(s, target) {
				if kernel.Scratch < 0 || kernel.Counters < 0 {
					t.Errorf("%s, %s: %d and %d bytes", arch, kernel.Name, kernel.Scratch, kernel.Counters)
				}
				for _, p := range kernel.Pieces {
					g := p.Grid
					if min(g[0], g[1], g[2]) < 1 || g[0] > 1<<31-1 || max(g[1], g[2]) > 65535 || p.Threads[0] > 1024 || p.SharedBytes > target.Shared {
						t.Errorf("%s, %s: blocks %v of %v, %d bytes", arch, kernel.Name, g, p.Threads, p.SharedBytes)
					}
				}
			}
		}
	})
}
