package tensor

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		shape []int
		n     int
		err   string
	}{
		{nil, 1, ""},
		{[]int{8, 16}, 128, ""},
		{[]int{0, 5}, 0, ""},
		{[]int{1 << 31}, 1 << 31, ""},
		{[]int{1<<31 + 1}, 0, "has the dimension 2147483649; the limit is 2147483648"},
		{[]int{2, 1 << 31}, 0, "more than 2147483648 elements"},
		{[]int{1 << 31, 1 << 31, 1 << 31}, 0, "more than 2147483648 elements"},
		{[]int{1 << 31, 1 << 31, 1 << 31, 0}, 0, ""},
		{[]int{math.MaxInt, 0}, 0, "the limit is"},
		{[]int{0, -1}, 0, "negative dimension -1 at index 1"},
		{[]int{-2}, 0, "negative dimension -2 at index 0"},
		{make([]int, 9), 0, "rank 9; the limit is 8"},
	} {
		n, err := Elements(c.shape)
		if n != c.n || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Elements(%v) = %d, %v; want %d, %q", c.shape, n, err, c.n, c.err)
		}
	}
}

func TestConstructorsRefuse(t *testing.T) {
	for want, f := range map[string]func() (*Tensor, error){
		"shape [2,3] needs 6 elements, got 5":                 func() (*Tensor, error) { return FromFloat32([]int{2, 3}, make([]float32, 5)) },
		"0 is not an element type":                            func() (*Tensor, error) { return Zeros(Invalid, 2) },
		"16-bit patterns make an f16 or bf16 tensor, not f32": func() (*Tensor, error) { return FromBits16(F32, []int{1}, []uint16{0}) },
		"shape [-1] has the negative dimension -1 at index 0": func() (*Tensor, error) { return Rand(1, -1) },
	} {
		if _, err := f(); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestAccess(t *testing.T) {
	x := must(FromFloat32([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6}))(t)
	if x.At(1, 0) != 4 || x.Dim(-1) != 3 || x.Rank() != 2 || x.Bytes() != 24 {
		t.Errorf("unexpected accessors of %v", x)
	}
	y := x.Reshape(3, -1)
	y.Set(50, 2, 0)
	if x.At(1, 1) != 50 {
		t.Error("Reshape does not share storage")
	}
	x.Shape()[0] = 7
	if x.Dim(0) != 2 {
		t.Error("Shape lets a caller change the tensor")
	}
	for _, bad := range [][]int{{4, 2}, {-1, -1}, {-1, 4}, {-2, 3}, {0, -1}} {
		panics(t, "tensor: cannot reshape f32[2,3]: ", func() { x.Reshape(bad...) })
	}
	panics(t, "index 3 out of range for dimension 1 of shape [2,3]", func() { x.At(0, 3) })
}

// panics runs f, which must panic with a text that contains want.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); !strings.Contains(fmt.Sprint(r), want) {
			t.Errorf("got panic %v, want %s", r, want)
		}
	}()
	f()
}

func TestValues(t *testing.T) {
	for _, dtype := range []DType{F32, F64, F16, BF16, I64, I32, Bool} {
		x := must(Full(dtype, 1, 2, 2))(t)
		x.SetElem(2, 0)
		values := x.Values()
		if !slices.Equal(values, []float64{1, 1, 0, 1}) {
			t.Errorf("%v has the values %v", dtype, values)
		}
		values[0] = 5
		if x.Elem(0) != 1 {
			t.Errorf("the values of %v share its storage", dtype)
		}
	}
}

func TestStorageOfAnotherType(t *testing.T) {
	x, y := must(Zeros(F32, 2, 3))(t), must(Zeros(F64, 2))(t)
	for name, f := range map[string]func(){
		"Float64": func() { x.Float64() },
		"Float32": func() { y.Float32() },
		"Bits16":  func() { x.Bits16() },
		"Int64":   func() { x.Int64() },
		"Int32":   func() { x.Int32() },
		"Bool":    func() { x.Bool() },
	} {
		panics(t, "tensor: "+name+" is the storage of another element type, and this tensor is f", f)
		panics(t, "Values() returns its elements converted to float64", f)
	}
}

func TestFormat(t *testing.T) {
	x := must(FromFloat32([]int{2, 2}, []float32{1, -2.5, 0.125, 10}))(t)
	i := must(From([]int{3}, []int64{1, -20, 1 << 60}))(t)
	for _, c := range []struct{ got, want string }{
		{fmt.Sprintf("%v", x), x.String()},
		{fmt.Sprintf("%s", x), x.String()},
		{fmt.Sprintf("%+v", x), x.String()},
		{fmt.Sprintf("%.2f", x), "f32[2,2]\n[[ 1.00 -2.50]\n [ 0.12 10.00]]"},
		{fmt.Sprintf("%+.1e", x), "f32[2,2]\n[[+1.0e+00 -2.5e+00]\n [+1.2e-01 +1.0e+01]]"},
		{fmt.Sprintf("%g", x), "f32[2,2]\n[[    1  -2.5]\n [0.125    10]]"},
		{fmt.Sprintf("%d", i), "i64[3]\n[                  1                 -20 1152921504606846976]"},
		{fmt.Sprintf("%.1f", must(Full(F32, 2))(t)), "f32[] 2.0"},
		{fmt.Sprintf("%t", must(Zeros(Bool, 1))(t)), "bool[1]\n[false]"},
		{fmt.Sprintf("%d", x), "%!d(*tensor.Tensor=f32[2,2])"},
		{fmt.Sprintf("%.1f", must(Zeros(F32, 0))(t)), "f32[0] []"},
		{fmt.Sprintf("%v", (*Tensor)(nil)), "<nil>"},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}

func TestTableFitsThePage(t *testing.T) {
	for v, want := range map[float64]string{
		1:        "0 1 2 3 4 5 6 7 … 32 33 34 35 36 37 38 39",
		1. / 3:   "0 1 2 3 … 36 37 38 39",
		1e12 / 3: "0 1 2 … 37 38 39",
	} {
		html := must(Full(F32, v, 2, 40))(t).Display().Data["text/html"].(string)
		head, _, _ := strings.Cut(html, "</tr></thead>")
		if want = "<th></th><th>" + strings.ReplaceAll(want, " ", "</th><th>") + "</th>"; !strings.HasSuffix(head, want) {
			t.Errorf("elements %g: the head is %s", v, head)
		}
	}
}

func TestConvert(t *testing.T) {
	inf := math.Inf(1)
	x := must(FromFloat64([]int{8}, []float64{1.5, -2.9, inf, -inf, math.NaN(), 1e300, 65519, 65520}))(t)
	for _, c := range []struct {
		dtype DType
		want  []float64
	}{
		{F32, []float64{1.5, float64(float32(-2.9)), inf, -inf, math.NaN(), inf, 65519, 65520}},
		{F16, []float64{1.5, -2.900390625, inf, -inf, math.NaN(), inf, 65504, inf}},
		{BF16, []float64{1.5, -2.90625, inf, -inf, math.NaN(), inf, 65536, 65536}},
		{I64, []float64{1, -2, math.MaxInt64, math.MinInt64, 0, math.MaxInt64, 65519, 65520}},
		{I32, []float64{1, -2, math.MaxInt32, math.MinInt32, 0, math.MaxInt32, 65519, 65520}},
		{Bool, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		got := must(x.Convert(c.dtype))(t)
		for i, w := range c.want {
			if g := got.Elem(i); g != w && (g == g || w == w) {
				t.Errorf("%v to %v is %v, want %v", x.Elem(i), c.dtype, g, w)
			}
		}
	}
	big := must(From([]int{2}, []int64{1<<53 + 1, math.MinInt64}))(t)
	narrow := must(big.Convert(I32))(t)
	if narrow.Int32()[0] != math.MaxInt32 || narrow.Int32()[1] != math.MinInt32 {
		t.Errorf("i64 to i32 gives %v", narrow.Int32())
	}
}

// TestHalf converts all 65,536 patterns of both 16-bit types to and fro, and
// checks that numbers between two neighbours go to the nearer, ties to even.
func TestHalf(t *testing.T) {
	for _, dtype := range []DType{F16, BF16} {
		for h := 0; h < 1<<16; h++ {
			v := float64(halfToFloat32(dtype, uint16(h)))
			back := halfFromFloat64(dtype, v)
			if v != v {
				if w := halfToFloat32(dtype, back); w == w {
					t.Fatalf("%v %#04x is NaN but comes back as %v", dtype, h, w)
				}
				continue
			}
			if back != uint16(h) {
				t.Fatalf("%v %#04x = %v comes back as %#04x", dtype, h, v, back)
			}
			next := float64(halfToFloat32(dtype, uint16(h+1)))
			if h&0x7fff == 0x7fff || math.IsInf(next, 0) || math.IsInf(v, 0) || next != next || h == 0x7fff {
				continue
			}
			middle := (v + next) / 2
			even := uint16(h + h&1)
			if got := halfFromFloat64(dtype, middle); got != even {
				t.Fatalf("%v: the middle %v of %#04x and its neighbour goes to %#04x", dtype, middle, h, got)
			}
			if got := halfFromFloat64(dtype, math.Nextafter(middle, v)); got != uint16(h) {
				t.Fatalf("%v: just below the middle above %#04x goes to %#04x", dtype, h, got)
			}
			if got := halfFromFloat64(dtype, math.Nextafter(middle, next)); got != uint16(h+1) {
				t.Fatalf("%v: just above the middle above %#04x goes to %#04x", dtype, h, got)
			}
		}
	}
}

func TestRand(t *testing.T) {
	x := must(Rand(1, 1000, 100))(t)
	var sum, square float64
	for _, v := range x.Float32() {
		if v < -1 || v >= 1 {
			t.Fatalf("%v is outside [-1, 1)", v)
		}
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	if n := float64(x.Len()); math.Abs(sum/n) > 0.01 || math.Abs(square/n-1.0/3) > 0.01 {
		t.Errorf("mean %v and mean square %v; want 0 and 1/3", sum/n, square/n)
	}
	// SplitMix64's published numbers for seed 0 fix the sequence for ever.
	want := []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f}
	for i, w := range want {
		if got := random(0, i); got != w {
			t.Errorf("number %d of seed 0 is %#x, want %#x", i, got, w)
		}
	}
	if y := must(Rand(1, 1000, 100))(t); !Identical(x, y) {
		t.Error("the same seed gives other data")
	}
	n := must(Randn(7, 99_999))(t)
	sum, square = 0, 0
	for _, v := range n.Float32() {
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	if c := float64(n.Len()); math.Abs(sum/c) > 0.02 || math.Abs(square/c-1) > 0.02 {
		t.Errorf("Randn has mean %v and variance %v", sum/c, square/c)
	}
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	got := must(FromFloat32([]int{5}, []float32{1, 2, float32(nan), float32(inf), 0}))(t)
	want := must(FromFloat64([]int{5}, []float64{1 + 0x1p-22, 2, nan, 1e300, 0x1p-149}))(t)
	d := must(Compare(got, want))(t)
	if d.MaxAbs != 0x1p-22 || d.Index != 0 || d.MaxULP != 2 || d.MaxRel != 1 || d.Mismatch != 0 {
		t.Errorf("unexpected difference %+v", d)
	}
	bad := must(FromFloat64([]int{5}, []float64{nan, 2, 0, -inf, inf}))(t)
	if d := must(Compare(got, bad))(t); d.Mismatch != 4 {
		t.Errorf("found %d mismatches, want 4", d.Mismatch)
	}
	if _, err := Compare(got, must(Zeros(F32, 4))(t)); err == nil {
		t.Error("compared tensors of different shapes")
	}
}

func TestString(t *testing.T) {
	f := func(shape []int, data ...float32) *Tensor { return must(FromFloat32(shape, data))(t) }
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		t    *Tensor
		want string
	}{
		{f(nil, 2.5), "f32[] 2.5"},
		{f([]int{0, 3}), "f32[0,3] []"},
		{f([]int{3}, 1, -2, 3), "f32[3]\n[ 1. -2.  3.]"},
		{f([]int{2, 2}, 0.1, 10, float32(math.NaN()), -inf), "f32[2,2]\n[[ 0.1 10.0]\n [ nan -inf]]"},
		{f([]int{2}, 1e-6, 1), "f32[2]\n[1e-06 1e+00]"},
		{must(From([]int{1, 2, 2}, []int64{1, 20, -3, 4}))(t), "i64[1,2,2]\n[[[ 1 20]\n  [-3  4]]]"},
		{must(From([]int{2}, []bool{true, false}))(t), "bool[2]\n[ true false]"},
		{f([]int{2, 1, 1}, 1, 2), "f32[2,1,1]\n[[[1.]]\n\n [[2.]]]"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
	big := must(Zeros(I32, 100, 50))(t).String()
	want := `i32[100,50]
[[0 0 0 ... 0 0 0]
 [0 0 0 ... 0 0 0]
 [0 0 0 ... 0 0 0]
 ...
 [0 0 0 ... 0 0 0]
 [0 0 0 ... 0 0 0]
 [0 0 0 ... 0 0 0]]`
	if big != want {
		t.Errorf("got\n%s\nwant\n%s", big, want)
	}
	for _, line := range strings.Split(must(Rand(1, 900))(t).String(), "\n") {
		if len(line) > lineWidth+1 {
			t.Errorf("a line has %d columns", len(line))
		}
	}
}

func TestDisplay(t *testing.T) {
	b := must(Zeros(F32, 40, 2))(t).Display()
	h := b.Data["text/html"].(string)
	if strings.Count(h, "<tr>") != 1+tableRows+1 || !strings.Contains(h, "f32[40,2]") || !strings.Contains(h, "…") {
		t.Errorf("unexpected table\n%s", h)
	}
	if b := must(Zeros(F32, 2, 2, 2))(t).Display(); b.Data["text/html"] != nil || b.Data["text/plain"] == nil {
		t.Error("a tensor of rank 3 must show as text alone")
	}
}

// TestCopies checks that a copy has the bits of the original and storage of its
// own, for each type.
func TestCopies(t *testing.T) {
	for _, x := range sampleTensors(t) {
		c := x.Clone()
		other := must(Zeros(x.DType(), x.shape...))(t)
		if err := Copy(other, x); err != nil {
			t.Fatal(err)
		}
		decoded := must(Decode(x.DType(), x.shape, x.Encode()))(t)
		for _, y := range []*Tensor{c, other, decoded, must(x.Convert(x.DType()))(t)} {
			if !Identical(x, y) {
				t.Fatalf("%v was copied to %v", x, y)
			}
			if x.Len() > 0 {
				y.SetElem(0, 0)
				if Identical(x, y) {
					t.Fatalf("a copy of %v%v shares its storage", x.DType(), x.Shape())
				}
			}
		}
	}
	if err := Copy(must(Zeros(F32, 2))(t), must(Zeros(F32, 2, 1))(t)); err == nil {
		t.Error("copied between different shapes")
	}
}

func TestWindow(t *testing.T) {
	x, err := FromFloat32([]int{3, 2}, []float32{0, 1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	w, err := x.Window(2, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	w.Set(9, 0, 1)
	if w.At(1, 0) != 4 || x.At(1, 1) != 9 {
		t.Errorf("%v is not a window on %v", w, x)
	}
	if e, err := x.Window(6, 0, 5); err != nil || e.Len() != 0 {
		t.Errorf("an empty window at the end: %v, %v", e, err)
	}
	for _, c := range []struct {
		offset int
		shape  []int
	}{{3, []int{2, 2}}, {-1, []int{1}}, {7, []int{1}}, {0, []int{-1}}} {
		if _, err := x.Window(c.offset, c.shape...); err == nil {
			t.Errorf("a window at %d of shape %v was accepted", c.offset, c.shape)
		}
	}
}

// TestHalfVectors compares the vector forms with the conversion of single
// elements, for every bit pattern and its neighbourhood.
func TestHalfVectors(t *testing.T) {
	for _, dtype := range []DType{F16, BF16} {
		bits := make([]uint16, 1<<16)
		for i := range bits {
			bits[i] = uint16(i)
		}
		wide, back := make([]float32, len(bits)), make([]uint16, len(bits))
		WidenHalf(dtype, wide, bits)
		NarrowHalf(dtype, back, wide)
		for i, v := range wide {
			if back[i] != bits[i] && v == v {
				t.Fatalf("%v pattern %#x becomes %g and then %#x", dtype, bits[i], v, back[i])
			}
		}
		for _, near := range []float32{1 + 0x1p-10, 1 - 0x1p-12, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1p-23} {
			x := make([]float32, len(wide))
			for i, v := range wide {
				x[i] = v * near
			}
			NarrowHalf(dtype, back, x)
			rounded := append([]float32(nil), x...)
			RoundHalf(dtype, rounded)
			for i, v := range x {
				want := RoundToHalf(dtype, float64(v))
				if v == v && (rounded[i] != want || halfToFloat32(dtype, back[i]) != want) {
					t.Fatalf("%v: %g rounds to %g or %#x, want %g", dtype, v, rounded[i], back[i], want)
				}
			}
		}
	}
}

// TestOddFloat64 rounds integers twice and compares with exact arithmetic.
func TestOddFloat64(t *testing.T) {
	for shift := range 63 {
		for _, low := range []int64{0, 1, 2, 3, 1 << 20} {
			v := int64(1)<<shift | int64(1)<<max(shift-8, 0) | low&(int64(1)<<shift-1)
			for _, v := range []int64{v, -v} {
				exact := new(big.Float).SetPrec(8).SetInt64(v) // nearest even, as bf16 rounds
				want, _ := exact.Float64()
				if got := float64(RoundToHalf(BF16, OddFloat64(v))); got != want {
					t.Errorf("%d becomes %g, want %g", v, got, want)
				}
			}
		}
	}
	if math.MinInt64 != OddFloat64(math.MinInt64) || OddFloat64(math.MaxInt64) >= 0x1p63 {
		t.Error("the ends of the range are rounded beyond it")
	}
}
