package cpu_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// elements are numbers of a type from all over its range, those of a half
// precision type all that there are, and the ends with their neighbours.
func elements(t *testing.T, dtype tensor.DType) *tensor.Tensor {
	t.Helper()
	const count = 1<<16 + 37 // all of half precision
	x, err := tensor.Zeros(dtype, count)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int64{0, 1, -1, 2, 1 << 24, 1<<24 + 1, 1<<53 + 1, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, math.MinInt32 - 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 2049, 4097, -2051, 65519, 65520, 65536, 0x7f7fffff, 0x7f7fffff << 30}
	fractions := []float64{0.5, 2.5, -0.5, 65519.99, 65520, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1.000001p-25, 0x1p-14, 0x1.fffp-15, 0x1p-149, 0x1p-150, 1e300, -1e300, 0x1.fffffefp127, 0x1.ffffffp127, 0x1.0040000000001p0, 1.00390625, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	for i := range count {
		mixed := uint64(i) * 0x9e3779b97f4a7c15
		switch dtype {
		case tensor.F32:
			x.Float32()[i] = math.Float32frombits(uint32(mixed >> 32))
		case tensor.F64:
			x.Float64()[i] = math.Float64frombits(mixed)
			if i%2 == 0 { // within the range of the other types
				x.Float64()[i] = math.Float64frombits(mixed&^(0x7ff<<52) | (1023-30+mixed>>52%80)<<52)
			}
		case tensor.F16, tensor.BF16:
			x.Bits16()[i] = uint16(i)
		case tensor.I64:
			x.Int64()[i] = int64(mixed) >> (i % 64)
		case tensor.I32:
			x.Int32()[i] = int32(mixed>>32) >> (i % 32)
		default:
			x.Bool()[i] = mixed>>63 == 1
		}
	}
	for i, v := range ends {
		switch dtype {
		case tensor.I64:
			x.Int64()[i] = v
		case tensor.I32:
			x.Int32()[i] = int32(v)
		default:
			if dtype == tensor.F32 || dtype == tensor.F64 {
				x.SetElem(i, float64(v))
			}
		}
	}
	if dtype == tensor.F32 || dtype == tensor.F64 {
		for i, v := range fractions {
			x.SetElem(100+i, v)
		}
	}
	return x
}

// rotated is the elements in another order. As a divisor it has no zeros.
func rotated(t *testing.T, x *tensor.Tensor, divisor bool) *tensor.Tensor {
	t.Helper()
	y := x.Clone()
	for i := range x.Len() {
		from := (i*7 + 3) % x.Len()
		switch x.DType() {
		case tensor.F32:
			y.Float32()[i] = x.Float32()[from]
		case tensor.F64:
			y.Float64()[i] = x.Float64()[from]
		case tensor.F16, tensor.BF16:
			y.Bits16()[i] = x.Bits16()[from]
		case tensor.I64:
			if y.Int64()[i] = x.Int64()[from]; divisor && y.Int64()[i] == 0 {
				y.Int64()[i] = -1
			}
		case tensor.I32:
			if y.Int32()[i] = x.Int32()[from]; divisor && y.Int32()[i] == 0 {
				y.Int32()[i] = -1
			}
		default:
			y.Bool()[i] = x.Bool()[from]
		}
	}
	return y
}

// TestTypesEqual demands the interpreter's bits of arithmetic, comparisons, choices
// and conversions in every type.
func TestTypesEqual(t *testing.T) {
	types := []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.Bool}
	var graphs []*ir.Graph
	var inputs [][]*tensor.Tensor
	for _, d := range types {
		x := elements(t, d)
		add := func(result tensor.DType, node string) {
			src := fmt.Sprintf("graph f(%%x: %v[%d], %%y: %v[%d], %%c: bool[%d]) {\n %%z: %v[%d] = %s\n return %%z\n}", d, x.Len(), d, x.Len(), x.Len(), result, x.Len(), node)
			g, err := ir.Parse(op.Registry, src)
			if err != nil {
				t.Fatal(err)
			}
			graphs = append(graphs, g)
			inputs = append(inputs, []*tensor.Tensor{x, rotated(t, x, strings.HasPrefix(node, "div")), elements(t, tensor.Bool)})
		}
		for _, to := range types {
			add(to, fmt.Sprintf("cast %%x {dtype = %q}", to))
		}
		add(tensor.Bool, "eq %x, %y")
		add(tensor.Bool, "ne %x, %y")
		add(d, "where %c, %x, %y")
		if d == tensor.Bool {
			add(d, "and %x, %y")
			add(d, "or %x, %y")
			add(d, "not %x")
			continue
		}
		for _, name := range []string{"lt", "le", "gt", "ge"} {
			add(tensor.Bool, name+" %x, %y")
		}
		for _, name := range []string{"add", "sub", "mul", "div", "maximum", "minimum"} {
			add(d, name+" %x, %y")
		}
		add(d, "neg %x")
		add(d, "abs %x")
		if d.IsFloat() {
			add(d, "sqrt %x")
			add(d, "rsqrt %x")
			add(d, "relu %x")
			add(d, "floor %x")
			add(d, "ceil %x")
			add(d, "round %x")
		}
		if d == tensor.F16 || d == tensor.BF16 {
			add(d, "exp %x")
			add(d, fmt.Sprintf("fused %%x, %%y (%%u: %v[], %%v: %v[]) {\n %%s: %v[] = mul %%u, %%v\n %%q: %v[] = sigmoid %%s\n %%r: %v[] = sub %%q, %%u\n return %%r\n }", d, d, d, d, d))
		}
	}
	equalOnTargets(t, graphs, inputs)
}

// TestWholeConverted converts whole numbers in the kernel that makes them: GCC 12
// crashes on its own functions there.
func TestWholeConverted(t *testing.T) {
	var graphs []*ir.Graph
	var inputs [][]*tensor.Tensor
	for _, c := range []struct{ from, to tensor.DType }{
		{tensor.F32, tensor.F64}, {tensor.F64, tensor.F32}, {tensor.F32, tensor.I64}, {tensor.F64, tensor.I32}, {tensor.F16, tensor.F64},
	} {
		for _, x := range []*tensor.Tensor{elements(t, c.from), tensor.Scalar(c.from, -0.5)} {
			for _, name := range []string{"floor", "ceil", "round"} {
				in, out := ir.SpecOf(x), ir.Spec{DType: c.to, Shape: x.Shape()}
				g, err := ir.Parse(op.Registry, fmt.Sprintf("graph f(%%x: %v) {\n %%z: %v = fused %%x (%%u: %v[]) {\n %%s: %v[] = %s %%u\n %%r: %v[] = cast %%s {dtype = %q}\n return %%r\n }\n return %%z\n}",
					in, out, c.from, c.from, name, c.to, c.to))
				if err != nil {
					t.Fatal(err)
				}
				graphs, inputs = append(graphs, g), append(inputs, []*tensor.Tensor{x})
			}
		}
	}
	equalOnTargets(t, graphs, inputs)
}

// equalOnTargets runs programs of one output for every kind of vectors, all natively,
// and demands the interpreter's bits.
func equalOnTargets(t *testing.T, graphs []*ir.Graph, inputs [][]*tensor.Tensor) {
	t.Helper()
	want := make([]*tensor.Tensor, len(graphs))
	for i, g := range graphs {
		want[i] = run(t, compile(t, interp.New(), g), inputs[i])[0]
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			for _, k := range exe.Kernels() {
				if strings.HasSuffix(k.Kernel, ", reference") {
					t.Errorf("%v: %s", graphs[i], k.Reason)
				}
			}
			got := run(t, exe, inputs[i])[0]
			if j := differs(got, want[i]); j >= 0 {
				t.Errorf("%v: element %d is %v, the interpreter has %v", graphs[i], j, got.Elem(j), want[i].Elem(j))
			}
		}
	})
}

// differs finds an element that has other bits, both being NaN apart.
func differs(a, b *tensor.Tensor) int {
	for i := range a.Len() {
		x, y := a.Elem(i), b.Elem(i)
		switch {
		case a.DType() == tensor.I64 && a.Int64()[i] == b.Int64()[i]:
		case a.DType() != tensor.I64 && x == y && math.Signbit(x) == math.Signbit(y):
		case a.DType() != tensor.I64 && x != x && y != y:
		default:
			return i
		}
	}
	return -1
}

// TestRopeEqual demands the interpreter's bits of rotary positions all over the range
// of positions.
func TestRopeEqual(t *testing.T) {
	pos, err := tensor.From([]int{6}, []int64{0, 1, 1003, 123_456_789, 1 << 30, math.MaxInt32 - 9})
	if err != nil {
		t.Fatal(err)
	}
	var graphs []*ir.Graph
	var inputs [][]*tensor.Tensor
	for i, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		x, err := tensor.Rand(uint64(i), 6, 2, 9, 256)
		if err != nil {
			t.Fatal(err)
		}
		if x, err = x.Convert(d); err != nil {
			t.Fatal(err)
		}
		for _, attrs := range []string{"base = 10000.0", "style = \"interleaved\", dims = 250", "base = 1.5"} {
			g, err := ir.Parse(op.Registry, fmt.Sprintf("graph f(%%x: %v[6,2,9,256], %%p: i64[6]) {\n %%y: %v[6,2,9,256] = rope %%x, %%p {%s}\n return %%y\n}", d, d, attrs))
			if err != nil {
				t.Fatal(err)
			}
			graphs, inputs = append(graphs, g), append(inputs, []*tensor.Tensor{x, pos})
		}
	}
	equalOnTargets(t, graphs, inputs)
}
