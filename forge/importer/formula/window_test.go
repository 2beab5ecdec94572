package formula

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// windows are those of the tests, of one to three dimensions.
var windows = []struct {
	in, kernel, stride, dilation, low, high []int
	roundUp                                 bool
}{
	{in: []int{7}, kernel: []int{3}, stride: []int{2}, dilation: []int{1}, low: []int{1}, high: []int{1}},
	{in: []int{7}, kernel: []int{2}, stride: []int{3}, dilation: []int{2}, low: []int{0}, high: []int{0}, roundUp: true},
	{in: []int{5, 6}, kernel: []int{2, 3}, stride: []int{1, 2}, dilation: []int{2, 1}, low: []int{1, 0}, high: []int{0, 2}},
	{in: []int{5, 6}, kernel: []int{3, 3}, stride: []int{2, 2}, dilation: []int{1, 1}, low: []int{1, 1}, high: []int{1, 1}, roundUp: true},
	{in: []int{6, 1}, kernel: []int{3, 1}, stride: []int{2, 1}, dilation: []int{1, 1}, low: []int{1, 0}, high: []int{1, 0}},
	{in: []int{4, 3, 5}, kernel: []int{2, 2, 3}, stride: []int{2, 1, 1}, dilation: []int{1, 1, 2}, low: []int{0, 1, 1}, high: []int{1, 0, 1}},
}

func window(in, kernel, stride, dilation, low, high []int, roundUp bool) *Window {
	w := &Window{In: in, Kernel: kernel, Stride: stride, Dilation: dilation, Low: low, High: high, Extra: make([]int, len(in))}
	if roundUp {
		w.RoundUp()
	}
	return w
}

// visit calls f for every result and every tap of its window that lies in the operand:
// the numbers are row-major. inside also counts the padding.
func (w *Window) visit(f func(result, tap, element int, in, padded bool)) {
	counts := make([]int, len(w.In))
	for i := range counts {
		counts[i] = w.Count(i)
	}
	for r := range Product(counts) {
		for k := range Product(w.Kernel) {
			at, step, rest, taps := 0, 1, r, k
			in, padded := true, true
			for d := len(w.In) - 1; d >= 0; d-- {
				x := rest%counts[d]*w.Stride[d] - w.Low[d] + taps%w.Kernel[d]*w.Dilation[d]
				in = in && x >= 0 && x < w.In[d]
				padded = padded && x < w.In[d]+w.High[d]
				at += x * step
				step *= w.In[d]
				rest /= counts[d]
				taps /= w.Kernel[d]
			}
			f(r, k, at, in, padded)
		}
	}
}

func (w *Window) results() []int {
	out := make([]int, len(w.In))
	for i := range out {
		out[i] = w.Count(i)
	}
	return out
}

func TestConvolve(t *testing.T) {
	for i, c := range windows {
		for _, groups := range []int{1, 2} {
			t.Run(fmt.Sprintf("window %d, %d groups", i, groups), func(t *testing.T) {
				w := window(c.in, c.kernel, c.stride, c.dilation, c.low, c.high, c.roundUp)
				const n, channels, out = 2, 4, 6
				x := counting(t, append([]int{n, channels}, c.in...)...)
				k := counting(t, append([]int{out, channels / groups}, c.kernel...)...)
				bias := counting(t, out)
				got := run(t, func(f Builder, in []*ir.Value) *ir.Value { return f.Convolve(in[0], in[1], in[2], w, groups) }, x, k, bias)
				results, pixels, taps := Product(w.results()), Product(c.in), Product(c.kernel)
				want := make([]float64, n*out*results)
				for b := range n {
					for o := range out {
						for r := range results {
							want[(b*out+o)*results+r] = bias.Elem(o)
						}
						for i := range channels / groups {
							from := o/(out/groups)*(channels/groups) + i
							w.visit(func(r, tap, at int, in, _ bool) {
								if in {
									want[(b*out+o)*results+r] += x.Elem((b*channels+from)*pixels+at) * k.Elem((o*(channels/groups)+i)*taps+tap)
								}
							})
						}
					}
				}
				same(t, got, append([]int{n, out}, w.results()...), want)
			})
		}
	}
}

// A transposed convolution spreads each element over the window that a convolution
// would have gathered it from.
func TestConvolveTransposed(t *testing.T) {
	for _, c := range []struct {
		in, kernel, stride, dilation, padding, more []int
		groups                                      int
	}{
		{[]int{4}, []int{3}, []int{2}, []int{1}, []int{1}, []int{1}, 1},
		{[]int{3, 4}, []int{3, 2}, []int{1, 3}, []int{2, 1}, []int{1, 0}, []int{0, 1}, 2},
		{[]int{3, 2}, []int{2, 2}, []int{2, 2}, []int{1, 1}, []int{0, 0}, []int{0, 0}, 1},
		{[]int{2, 3, 2}, []int{2, 1, 3}, []int{2, 1, 3}, []int{1, 1, 1}, []int{0, 0, 0}, []int{0, 0, 0}, 1},
	} {
		n := len(c.in)
		win := &Window{In: c.in, Kernel: c.kernel, Stride: c.stride, Dilation: c.dilation, Low: c.padding, High: c.padding, Extra: make([]int, n)}
		const channels, out = 2, 4
		x, k := counting(t, append([]int{1, channels}, c.in...)...), counting(t, append([]int{channels, out / c.groups}, c.kernel...)...)
		bias := counting(t, out)
		got := run(t, func(f Builder, in []*ir.Value) *ir.Value {
			return f.ConvolveTransposed(in[0], in[1], in[2], win, c.more, c.groups)
		}, x, k, bias)
		shape := make([]int, n)
		for d := range n {
			shape[d] = (c.in[d]-1)*c.stride[d] + win.Span(d) - 2*c.padding[d] + c.more[d]
		}
		back := &Window{In: shape, Kernel: c.kernel, Stride: c.stride, Dilation: c.dilation, Low: c.padding, High: make([]int, n), Extra: make([]int, n)}
		for d := range n { // as many windows as x has elements
			back.High[d] = (c.in[d]-1)*c.stride[d] + win.Span(d) - shape[d] - c.padding[d]
		}
		pixels, results, taps := Product(c.in), Product(shape), Product(c.kernel)
		want := make([]float64, out*results)
		for o := range out {
			for r := range results {
				want[o*results+r] = bias.Elem(o)
			}
			for i := range channels / c.groups {
				from := o/(out/c.groups)*(channels/c.groups) + i
				back.visit(func(element, tap, at int, in, _ bool) {
					if in {
						want[o*results+at] += x.Elem(from*pixels+element) * k.Elem((from*(out/c.groups)+o%(out/c.groups))*taps+tap)
					}
				})
			}
		}
		same(t, got, append([]int{1, out}, shape...), want)
	}
}

func TestPooling(t *testing.T) {
	for i, c := range windows {
		w := window(c.in, c.kernel, c.stride, c.dilation, c.low, c.high, c.roundUp)
		x := counting(t, append([]int{2, 1}, c.in...)...)
		results, pixels := Product(w.results()), Product(c.in)
		for _, kind := range []string{"max", "average", "average with padding", "sum over 3"} {
			t.Run(fmt.Sprintf("window %d, %s", i, kind), func(t *testing.T) {
				got := run(t, func(f Builder, in []*ir.Value) *ir.Value {
					switch kind {
					case "max":
						return f.MaxPool(in[0], w)
					case "average":
						return f.AveragePool(in[0], w, false, 0)
					case "average with padding":
						return f.AveragePool(in[0], w, true, 0)
					}
					return f.AveragePool(in[0], w, false, 3)
				}, x)
				most, sum := slices.Repeat([]float64{math.Inf(-1)}, 2*results), make([]float64, 2*results)
				count, padded := make([]float64, 2*results), make([]float64, 2*results)
				for b := range 2 {
					w.visit(func(r, _, at int, in, inPadding bool) {
						r += b * results
						if in {
							v := x.Elem(b*pixels + at)
							most[r], sum[r], count[r] = max(most[r], v), sum[r]+v, count[r]+1
						}
						if inPadding {
							padded[r]++
						}
					})
				}
				want := most
				if kind != "max" {
					want = sum
					for r := range sum {
						sum[r] /= map[string]float64{"average": count[r], "average with padding": padded[r], "sum over 3": 3}[kind]
					}
				}
				same(t, got, append([]int{2, 1}, w.results()...), want)
			})
		}
	}
}

// Maxima of integers beyond float32 are exact.
func TestMaxPoolOfIntegers(t *testing.T) {
	x, err := tensor.From([]int{1, 1, 4}, []int64{1<<40 + 1, 1 << 40, -5, -7})
	if err != nil {
		t.Fatal(err)
	}
	w := window([]int{4}, []int{2}, []int{2}, []int{1}, []int{0}, []int{0}, false)
	got := run(t, func(f Builder, in []*ir.Value) *ir.Value { return f.MaxPool(in[0], w) }, x)
	if got.DType() != tensor.I64 || !slices.Equal(got.Int64(), []int64{1<<40 + 1, -5}) {
		t.Errorf("got %v", got)
	}
}
