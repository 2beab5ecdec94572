package cublaslt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// cublaslt is the library, without which a test is skipped.
func cublaslt(t testing.TB) *Library {
	t.Helper()
	l, err := Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no cuBLASLt: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cuBLASLt %v, %s", l.Version, l.Path)
	return l
}

func TestVersion(t *testing.T) {
	for v, want := range map[Version]string{120901: "12.9.1", 130100: "13.1.0", 110601: "11.6.1"} {
		if v.String() != want {
			t.Errorf("%d is %v, want %s", int(v), v, want)
		}
	}
}

func TestErrors(t *testing.T) {
	l := cublaslt(t)
	err := l.call("nothing", "cublasLtMatmulDescSetAttribute", 0, descBias, 0, 0)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, InvalidValue) || errors.Is(err, NotSupported) {
		t.Fatalf("error %v", err)
	}
	if want := "cublasLtMatmulDescSetAttribute (nothing): CUBLAS_STATUS_INVALID_VALUE, code 7: "; !strings.HasPrefix(err.Error(), want) || e.Text == "" {
		t.Errorf("error %q, want %q", err, want)
	}
}

func rows(row int) Matrix    { return Matrix{Row: row, Column: 1, Align: 256} }
func columns(col int) Matrix { return Matrix{Row: 1, Column: col, Align: 256} }

// square is a product of equal sizes.
func square(d tensor.DType, n int) Shape {
	return Shape{DType: d, M: n, N: n, K: n, Batch: 1, A: rows(n), B: rows(n), D: rows(n)}
}

func TestShapes(t *testing.T) {
	for want, change := range map[string]func(*Shape){
		"a size of 0":                              func(s *Shape) { s.K = 0 },
		"a size of -1":                             func(s *Shape) { s.Batch = -1 },
		"the elements of A lie 7 and 1 apart":      func(s *Shape) { s.A.Row = 7 },
		"the elements of B lie 2 and 16 apart":     func(s *Shape) { s.B = Matrix{Row: 2, Column: 16, Align: 4} },
		"the elements of D lie 8 and 1 apart":      func(s *Shape) { s.D.Align = 0 },
		"D has to be stored by rows":               func(s *Shape) { s.D = columns(8) },
		"D has to be stored by rows, without over": func(s *Shape) { s.Batch, s.D.Batch = 2, 63 },
		"a workspace of -1 bytes":                  func(s *Shape) { s.Workspace = -1 },
		"2147483648":                               func(s *Shape) { s.A.Row = 1 << 31 },
	} {
		s := square(tensor.F32, 8)
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, s := range []Shape{
		square(tensor.F32, 1), {DType: tensor.BF16, M: 1, N: 5, K: 3, Batch: 4, A: rows(3), B: columns(3), D: Matrix{Row: 5, Column: 1, Batch: 5, Align: 2}},
	} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	if _, err := kindsOf(tensor.I32); err == nil {
		t.Error("products of integers")
	}
}

// TestDescriptions makes the objects of the library, for which no device is needed, and
// gives them up.
func TestDescriptions(t *testing.T) {
	l := cublaslt(t)
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		s := square(d, 8)
		s.Batch, s.D.Batch, s.A.Batch, s.Bias, s.B = 3, 64, 64, true, columns(8)
		k, err := kindsOf(d)
		if err != nil {
			t.Fatal(err)
		}
		p := &Plan{Shape: s, lib: l}
		if err := errors.Join(p.describe(k), l.destroy(p.objects)); err != nil {
			t.Error(err)
		}
	}
}

func TestFactors(t *testing.T) {
	p := &Plan{Shape: Shape{DType: tensor.F16}}
	p.setFactors()
	if one := *(*float32)(unsafe.Pointer(&p.one)); one != 1 {
		t.Errorf("the factor is %v", one)
	}
	p.Shape.DType = tensor.F64
	if p.setFactors(); p.one[0] != 1 {
		t.Errorf("the factor is %v", p.one[0])
	}
}

// TestHeader compiles this package's constants and layouts against cublasLt.h beside
// the library, where it is present with the headers of the CUDA runtime.
func TestHeader(t *testing.T) {
	l := cublaslt(t)
	include := filepath.Join(filepath.Dir(filepath.Dir(l.Path)), "include")
	header := filepath.Join(include, "cublasLt.h")
	cc, err := exec.LookPath("cc")
	if _, no := os.Stat(header); no != nil || err != nil {
		t.Skip("there is no C compiler, or no header at ", header)
	}
	var c candidate
	equal := map[string]uint64{
		"CUBLAS_STATUS_NOT_INITIALIZED": uint64(NotInitialized), "CUBLAS_STATUS_INVALID_VALUE": uint64(InvalidValue), "CUBLAS_STATUS_NOT_SUPPORTED": uint64(NotSupported),
		"CUDA_R_16F": real16F, "CUDA_R_16BF": real16BF, "CUDA_R_32F": real32F, "CUDA_R_64F": real64F,
		"CUBLAS_COMPUTE_32F": compute32F, "CUBLAS_COMPUTE_32F_PEDANTIC": compute32FPedantic, "CUBLAS_COMPUTE_64F": compute64F,
		"CUBLASLT_MATMUL_DESC_TRANSA": descTransA, "CUBLASLT_MATMUL_DESC_TRANSB": descTransB, "CUBLASLT_MATMUL_DESC_EPILOGUE": descEpilogue,
		"CUBLASLT_MATMUL_DESC_BIAS_POINTER": descBias, "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": layoutBatch, "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": layoutStride,
		"CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": prefWorkspace, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES": prefAlignA, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES": prefAlignB,
		"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES": prefAlignC, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES": prefAlignD,
		"CUBLAS_OP_T": transposed, "CUBLASLT_EPILOGUE_BIAS": epilogueBias,
		"CUBLASLT_ALGO_CONFIG_ID": configID, "CUBLASLT_ALGO_CONFIG_TILE_ID": configTile, "CUBLASLT_ALGO_CONFIG_SPLITK_NUM": configSplitK, "CUBLASLT_ALGO_CONFIG_STAGES_ID": configStages,
		"sizeof(cublasLtMatmulAlgo_t)": uint64(unsafe.Sizeof(c.algorithm)), "sizeof(cublasLtMatmulHeuristicResult_t)": uint64(unsafe.Sizeof(c)),
		"offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)": uint64(unsafe.Offsetof(c.workspace)), "offsetof(cublasLtMatmulHeuristicResult_t, state)": uint64(unsafe.Offsetof(c.state)),
		"offsetof(cublasLtMatmulHeuristicResult_t, wavesCount)": uint64(unsafe.Offsetof(c.waves)), "sizeof(cublasStatus_t)": uint64(unsafe.Sizeof(c.state)),
		"sizeof(cublasLtHandle_t)": uint64(unsafe.Sizeof(Plan{}.handle)),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stddef.h>\n#include %q\n", header)
	for name, want := range equal {
		fmt.Fprintf(&b, "_Static_assert(%s == %d, \"\");\n", name, want)
	}
	for i, name := range functions {
		fmt.Fprintf(&b, "void *f%d = (void *)%s;\n", i, name)
	}
	args := []string{"-std=c11", "-fsyntax-only", "-I", include}
	for _, dir := range filepath.SplitList(os.Getenv("CUDA_INCLUDE")) { // a package of headers apart
		args = append(args, "-I", dir)
	}
	cmd := exec.CommandContext(t.Context(), cc, append(args, "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(b.String())
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "No such file") {
		t.Skipf("it needs headers of the CUDA runtime, which CUDA_INCLUDE may name: %s", out)
	}
	if err != nil {
		t.Errorf("%s: %v: %s", header, err, out)
	}
	t.Log(header)
}
