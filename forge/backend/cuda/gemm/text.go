package gemm

import (
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
)

// elem is the type of elements in text.
func elem(d tensor.DType) string {
	return map[tensor.DType]string{tensor.F32: "float", tensor.F16: "gemm::f16_t", tensor.BF16: "gemm::bf16_t"}[d]
}

// text builds the description that kernels are instantiated with.
type text struct {
	strings.Builder
	shape   *Shape
	cluster int  // blocks of a cluster, along y; 0 for none
	boxed   bool // the copy engine brings the operands
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintf(t, format, args...)
	t.WriteByte('\n')
}

func (t *text) constant(name string, value any) {
	kind := "int"
	switch v := value.(type) {
	case bool:
		kind = "bool"
	case int:
		if int(int32(v)) != v {
			kind = "i64"
		}
	}
	t.line("  static constexpr %s %s = %v;", kind, name, value)
}

// begin writes the description up to what a kind of kernels adds.
func (t *text) begin() {
	s := t.shape
	t.line("struct @kernel@_product {")
	for _, p := range s.params() {
		t.line("  %s;", p)
	}
	t.line("  typedef %s A; typedef %s B; typedef %s Out;", elem(s.A.Elem), elem(s.B.Elem), elem(s.Out.Elem))
	t.constant("M", s.M)
	t.constant("N", s.N)
	t.constant("K", s.K)
	t.constant("batches", s.batches())
	t.line("  static constexpr i64 a_m = %d, a_k = %d, b_k = %d, b_n = %d, o_m = %d;", s.A.Row, s.A.Column, s.B.Row, s.B.Column, s.Out.Row)
	t.place("a", &s.A)
	t.place("b", &s.B)
	t.place("o", &s.Out)
	t.line("  INLINE_MEMBER static A a_get(const A *a, int k, int m) { return a[k * a_k + m * a_m]; }")
	t.get()
	t.constant("o_pairs", s.Out.whole(2, s.Out.Row, s.Out.Batch))
	t.constant("o_eights", s.N%8 == 0 && s.Out.whole(8, s.Out.Row, s.Out.Batch))
	t.line("  INLINE_MEMBER float finish(float sum, int z, i64 m, i64 n) const {")
	if s.Finish.Body == "" {
		t.line("    return sum;")
	} else {
		t.coordinates()
		t.line("%s", s.Finish.Body)
	}
	t.line("  }")
}

// get writes how an element of B is read.
func (t *text) get() {
	w := t.shape.Window
	if w == nil {
		t.line("  INLINE_MEMBER static B b_get(const B *b, int k, int n) { return b[k * b_k + n * b_n]; }")
		return
	}
	t.line("  INLINE_MEMBER static B b_get(const B *b, int k, int n) {")
	t.line("    const int tap = k %% %d;", w.V.Taps*w.H.Taps)
	t.line("    const int y = n / %d * %d + tap / %d * %d - %d;", w.H.Out, w.V.Stride, w.H.Taps, w.V.Dilation, w.V.Before)
	t.line("    const int x = n %% %d * %d + tap %% %d * %d - %d;", w.H.Out, w.H.Stride, w.H.Taps, w.H.Dilation, w.H.Before)
	t.line("    if ((unsigned)y >= %d || (unsigned)x >= %d) return B{};", w.V.In, w.H.In)
	t.line("    return b[(i64)(k / %d) * %d + (i64)y * %d + (i64)x * %d];", w.V.Taps*w.H.Taps, w.Channel, w.Row, w.Column)
	t.line("  }")
}

// coordinates declares the point of the batch with number z.
func (t *text) coordinates() {
	count := 1
	for i := len(t.shape.Batch) - 1; i >= 0; i-- {
		t.line("    const i64 i%d = z / %d %% %d;", i, count, t.shape.Batch[i])
		count *= t.shape.Batch[i]
	}
}

// place writes where the matrix of a point of the batch begins.
func (t *text) place(name string, m *Matrix) {
	t.line("  INLINE_MEMBER static i64 %s_at(int z) {", name)
	count, sum := 1, "0"
	for i := len(t.shape.Batch) - 1; i >= 0; i-- {
		if m.Batch[i] != 0 {
			sum += fmt.Sprintf(" + (i64)(z / %d %% %d) * %d", count, t.shape.Batch[i], m.Batch[i])
		}
		count *= t.shape.Batch[i]
	}
	t.line("    return %s;", sum)
	t.line("  }")
}

// walks writes how both operands are read.
func (t *text) walks(a, b units) {
	along, whole := t.shape.walkA(a)
	t.constant("a_along", along)
	t.constant("a_whole", whole)
	along, whole = t.shape.walkB(b)
	t.constant("b_along", along)
	t.constant("b_whole", whole)
}

// end closes the description and writes the kernel, which calls a function of the source.
func (t *text) end(function string, threads, blocks int, args []Arg, memory bool) {
	t.line("};")
	s := t.shape
	var params, names []string
	for _, a := range args {
		switch a {
		case Out:
			params, names = append(params, elem(s.Out.Elem)+" *out"), append(names, "out")
		case A:
			params, names = append(params, t.operand(s.A.Elem, "a")), append(names, "a")
		case B:
			params, names = append(params, t.operand(s.B.Elem, "b")), append(names, "b")
		case Scratch:
			params, names = append(params, "float *part"), append(names, "part")
		case Counters:
			params, names = append(params, "int *arrived"), append(names, "arrived")
		}
	}
	var extra []string
	for _, p := range s.params() {
		params = append(params, p)
		extra = append(extra, p[strings.LastIndexAny(p, " *")+1:])
	}
	params = append(params, "int *fault", "int step")
	cluster := ""
	if t.cluster > 0 {
		cluster = fmt.Sprintf("__cluster_dims__(1, %d, 1) ", t.cluster)
	}
	t.line("extern \"C\" __global__ void %s__launch_bounds__(%d, %d) @kernel@(%s) {", cluster, threads, blocks, strings.Join(params, ", "))
	if memory {
		t.line("  extern __shared__ __align__(1024) char gemm_memory[];")
		names = append(names, "gemm_memory")
	}
	t.line("  gemm::%s(@kernel@_product{%s}, %s);", function, strings.Join(extra, ", "), strings.Join(names, ", "))
	t.line("}")
}

// operand is a parameter for an operand.
func (t *text) operand(d tensor.DType, name string) string {
	if t.boxed {
		return "const __grid_constant__ gemm::tensor_map " + name
	}
	return "const " + elem(d) + " *" + name
}
