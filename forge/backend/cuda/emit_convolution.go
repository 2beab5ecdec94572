package cuda

import (
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Of a convolution, a thread computes some channels of some pixels, so that it uses what
// it reads several times: weights, which a block keeps in shared memory, for all its
// pixels, and pixels for all its channels.
const (
	convolutionChannels = 8
	convolutionPixels   = 4
	// convolutionInputs are the input channels of which a block keeps a tap at a time.
	convolutionInputs = 64
)

// convolutionEmitter writes a convolution. Its variables are i0 for the image and those
// of [convolutionEmitter.at].
type convolutionEmitter struct {
	*emitter
	c                *loop.Convolution
	channels, pixels int // of a thread
	form             struct{ elem, value string }
	computed         tensor.DType
}

// convolution writes a block of threads for pixels of a group of channels. Sums run over
// the input channels of one tap after another.
func (e *emitter) convolution(name string) launch {
	c := e.kernel.Convolution
	x := &convolutionEmitter{emitter: e, c: c, computed: computed(c.Elem), form: forms[computed(c.Elem)]}
	x.channels = min(convolutionChannels, c.Outputs)
	points := c.V.Out * c.H.Out
	blocks := func() int {
		return c.Images * c.Groups * ceil(c.Outputs, x.channels) * ceil(points, x.pixels*blockThreads)
	}
	for x.pixels = convolutionPixels; x.pixels > 1 && (blocks() < fewBlocks || points < x.pixels*blockThreads/2); x.pixels /= 2 {
	}
	for x.channels > 1 && blocks() < fewBlocks {
		x.channels /= 2
	}
	if convolutionSmall(c, e.kernel) {
		e.index = "i32"
	}
	e.begin(name, blockThreads)
	defer e.Close()
	count := blocks()
	e.Line("__shared__ alignas(16) %s w[%d][%d];", x.form.elem, convolutionInputs, x.channels)
	e.Open("for (%s u = blockIdx.x; u < %d; u += gridDim.x)", e.index, count)
	e.coordinates("u", []string{"i0", "group", "top", "left"},
		[]int{c.Images, c.Groups, ceil(c.Outputs, x.channels), ceil(points, x.pixels*blockThreads)})
	e.Line("int row[%d], column[%d];", x.pixels, x.pixels)
	e.Line("%s sum[%d][%d];", x.form.value, x.pixels, x.channels)
	x.start()
	x.taps()
	x.finish()
	e.Close()
	return flat(min(maxBlocks, max(1, count)), blockThreads)
}

// convolutionSmall reports whether all elements of a convolution can be counted in 32 bits.
func convolutionSmall(c *loop.Convolution, k *loop.Kernel) bool {
	for _, a := range []loop.Access{c.X, c.W, c.Out} {
		if k.Params[a.Param].Elements() > maxSmall {
			return false
		}
	}
	return true
}

// fewBlocks are about as many as the largest devices have multiprocessors.
const fewBlocks = 132

func ceil(n, by int) int { return (n + by - 1) / by }

// each opens loops over the pixels and channels of a thread.
func (x *convolutionEmitter) each(body func()) {
	x.Line("_Pragma(\"unroll\")")
	x.Open("for (int p = 0; p < %d; p++)", x.pixels)
	x.Line("_Pragma(\"unroll\")")
	x.Open("for (int q = 0; q < %d; q++)", x.channels)
	body()
	x.Close()
	x.Close()
}

// at are the variables of a result.
func (x *convolutionEmitter) at() []string {
	return []string{"i0", fmt.Sprintf("(group * %d + top * %d + q)", x.c.Outputs, x.channels), "row[p]", "column[p]"}
}

// there is the condition that a thread's pixel and channel are of the result.
func (x *convolutionEmitter) there() string {
	return fmt.Sprintf("row[p] < %d && top * %d + q < %d", x.c.V.Out, x.channels, x.c.Outputs)
}

// start finds the pixels and begins their sums with the bias.
func (x *convolutionEmitter) start() {
	x.Line("_Pragma(\"unroll\")")
	x.Open("for (int p = 0; p < %d; p++)", x.pixels)
	x.Line("const int point = (int)left * %d + p * %d + threadIdx.x;", x.pixels*blockThreads, blockThreads)
	x.Line("row[p] = point / %d;", x.c.H.Out)
	x.Line("column[p] = point %% %d;", x.c.H.Out)
	x.Close()
	x.each(func() {
		x.Line("sum[p][q] = %s;", constant(&loop.Expr{Op: loop.Const, Type: x.computed}))
		if b := x.c.Bias; b != nil {
			x.Line("if (%s) sum[p][q] = load_%s(p%d + (%s));", x.there(), x.memory(b), b.Param, x.affine(x.at(), b.Offset, b.Strides))
		}
	})
}

// taps adds the products of one tap after another, of some input channels at a time.
func (x *convolutionEmitter) taps() {
	c := x.c
	x.Open("for (int v = 0; v < %d; v++)", c.V.Taps)
	x.Open("for (int h = 0; h < %d; h++)", c.H.Taps)
	x.Line("bool there[%d];", x.pixels)
	x.Line("%s at[%d];", x.index, x.pixels)
	x.Line("_Pragma(\"unroll\")")
	x.Open("for (int p = 0; p < %d; p++)", x.pixels)
	x.Line("const int y = row[p] * %d + v * %d - %d, z = column[p] * %d + h * %d - %d;", c.V.Stride, c.V.Dilation, c.V.Before, c.H.Stride, c.H.Dilation, c.H.Before)
	x.Line("there[p] = row[p] < %d && inside(y, %d) && inside(z, %d);", c.V.Out, c.V.In, c.H.In)
	x.Line("at[p] = %s;", x.affine([]string{"i0", fmt.Sprintf("group * %d", c.Inputs), "y", "z"}, c.X.Offset, c.X.Strides))
	x.Close()
	x.Open("for (int first = 0; first < %d; first += %d)", c.Inputs, convolutionInputs)
	x.weights()
	x.Line("_Pragma(\"unroll 4\")")
	x.Open("for (int t = 0; t < %d && first + t < %d; t++)", convolutionInputs, c.Inputs)
	x.Line("_Pragma(\"unroll\")")
	x.Open("for (int p = 0; p < %d; p++)", x.pixels)
	x.Line("if (!there[p]) continue;")
	x.Line("const %s a = load_%s(p%d + at[p] + (first + t) * %d);", x.form.value, x.memory(&c.X), c.X.Param, c.X.Strides[1])
	fused := "fma_(a, set(w[t][q]), sum[p][q])"
	if x.computed == tensor.F64 {
		fused = "set_f64(__fma_rn(lane0_f64(a), w[t][q], lane0_f64(sum[p][q])))"
	}
	x.Line("_Pragma(\"unroll\")")
	x.Line("for (int q = 0; q < %d; q++) sum[p][q] = %s;", x.channels, fused)
	for range 5 {
		x.Close()
	}
}

// weights brings those of one tap to shared memory.
func (x *convolutionEmitter) weights() {
	c := x.c
	x.Line("__syncthreads();")
	x.Open("for (int t = threadIdx.x; t < %d; t += %d)", convolutionInputs*x.channels, blockThreads)
	x.Line("const int in = first + t / %d, q = t %% %d;", x.channels, x.channels)
	x.Line("const bool known = in < %d && top * %d + q < %d;", c.Inputs, x.channels, c.Outputs)
	w := []string{fmt.Sprintf("(group * %d + top * %d + q)", c.Outputs, x.channels), "in", "v", "h"}
	x.Line("w[t / %d][q] = known ? lane0_%v(load_%s(p%d + (%s))) : 0;", x.channels, x.computed, x.memory(&c.W), c.W.Param, x.affine(w, c.W.Offset, c.W.Strides))
	x.Close()
	x.Line("__syncthreads();")
}

// finish stores the epilogues of the sums.
func (x *convolutionEmitter) finish() {
	x.each(func() {
		x.Open("if (%s)", x.there())
		x.acc = "sum[p][q]"
		value := x.acc
		if x.c.Epilogue != nil {
			value = x.expr(x.at(), x.c.Epilogue)
		}
		x.write(x.at(), &x.c.Out, value, "")
		x.Close()
	})
}
