package cuda

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/backend/cuda/gemm"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

func TestEvenStep(t *testing.T) {
	for _, c := range []struct {
		dims, steps []int
		step        int
		even        bool
	}{
		{nil, nil, 0, true}, {[]int{4}, []int{6}, 6, true}, {[]int{2, 3}, []int{18, 6}, 6, true}, {[]int{2, 3}, []int{0, 0}, 0, true},
		{[]int{2, 3}, []int{6, 12}, 0, false}, {[]int{2, 3}, []int{0, 6}, 0, false}, {[]int{1, 3, 1}, []int{7, 6, 5}, 6, true},
	} {
		if step, even := evenStep(c.dims, c.steps); step != c.step || even != c.even {
			t.Errorf("%v by %v: %d, %v", c.dims, c.steps, step, even)
		}
	}
}

func TestLibraryShape(t *testing.T) {
	half := func(row, column int, batch ...int) gemm.Matrix {
		return gemm.Matrix{Elem: tensor.BF16, Row: row, Column: column, Batch: batch, Align: 64}
	}
	s := &gemm.Shape{Batch: []int{2, 3}, M: 4, N: 5, K: 6, A: half(6, 1, 72, 24), B: half(1, 6, 0, 0), Out: half(5, 1, 60, 20)}
	got, why := libraryShape(s)
	want := cublaslt.Shape{
		DType: tensor.BF16, M: 4, N: 5, K: 6, Batch: 6, Workspace: libraryWorkspace,
		A: cublaslt.Matrix{Row: 6, Column: 1, Batch: 24, Align: 64}, B: cublaslt.Matrix{Row: 1, Column: 6, Align: 64}, D: cublaslt.Matrix{Row: 5, Column: 1, Batch: 20, Align: 64},
	}
	if why != "" || got != want {
		t.Errorf("it is %+v, %s", got, why)
	}
	mixed := *s
	mixed.A.Elem = tensor.F32
	if _, why := libraryShape(&mixed); why != "f32 by bf16 has no equal" {
		t.Error(why)
	}
	uneven := *s
	uneven.A.Batch = []int{24, 48}
	if _, why := libraryShape(&uneven); !strings.Contains(why, "equal distances") {
		t.Error(why)
	}
	strided := *s
	strided.A = half(12, 2, 72, 24)
	if _, why := libraryShape(&strided); !strings.Contains(why, "lie 12 and 2 apart") {
		t.Error(why)
	}
	row := &gemm.Shape{M: 1, N: 5, K: 6, A: half(0, 1), B: half(5, 1), Out: half(0, 1)}
	if got, why := libraryShape(row); why != "" || got.A.Row != 6 || got.D.Row != 5 {
		t.Errorf("one row: %+v, %s", got, why)
	}
}

// TestLibraryProducts runs programs whose products are cuBLASLt's, and compares them
// with our own.
func TestLibraryProducts(t *testing.T) {
	b := device(t)
	var missing *library.Missing
	if _, err := cublaslt.Open(); errors.As(err, &missing) {
		t.Skip(err)
	}
	for _, text := range []string{
		"graph f(%x: bf16[8,256], %w: bf16[256,512]) {\n%y: bf16[8,512] = matmul %x, %w\nreturn %y\n}",
		"graph f(%x: f32[1,256], %w: f32[256,512]) {\n%y: f32[1,512] = matmul %x, %w\nreturn %y\n}",
		"graph f(%x: f16[2,3,16,64], %w: f16[2,3,64,32]) {\n%y: f16[2,3,16,32] = matmul %x, %w\nreturn %y\n}",
	} {
		g, err := ir.Parse(op.Registry, text)
		if err != nil {
			t.Fatal(err)
		}
		in := make([]*tensor.Tensor, 2)
		for i, v := range g.Inputs {
			if in[i], err = tensor.Randn(uint64(i), v.Spec.Shape...); err == nil {
				in[i], err = in[i].Convert(v.Spec.DType)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		own, err := b.Compile(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		want, err := own.Run(t.Context(), in...)
		if err != nil {
			t.Fatal(err)
		}
		want[0] = want[0].Clone()
		found := false
		for pick := 0; ; pick++ {
			var name string
			count := 0
			selected := *b
			selected.Select = func(_ *ir.Node, list []Candidate) (int, string) {
				count = len(list)
				name = list[min(pick, count-1)].Name
				return min(pick, count-1), ""
			}
			exe, err := selected.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if pick >= count {
				break
			}
			if !strings.HasPrefix(name, libraryPrefix) {
				continue
			}
			found = true
			got, err := exe.Run(t.Context(), in...)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range got[0].Len() {
				worst = max(worst, got[0].Elem(i)-want[0].Elem(i), want[0].Elem(i)-got[0].Elem(i))
			}
			t.Logf("%v by %s differs by %.3g, the same bits %v", g.Outputs[0].Spec, name, worst, bytes.Equal(planned.Bytes(got[0]), planned.Bytes(want[0])))
			if !(worst <= map[tensor.DType]float64{tensor.F32: 1e-4, tensor.F16: 0.06, tensor.BF16: 0.6}[g.Outputs[0].Spec.DType]) {
				t.Errorf("it differs by %v", worst)
			}
		}
		if !found {
			t.Errorf("%v has no product of the library", g.Outputs[0].Spec)
		}
	}
}
