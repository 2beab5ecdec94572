package collective

import (
	"unsafe"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/tensor"
)

// block is the number of bytes that more than two ranks combine at a time, so
// that what is in between stays in the first cache.
const block = 8 << 10

// combiner combines elements of several ranks.
type combiner struct {
	between  []byte    // the combination of some of the ranks
	acc, add []float32 // 16-bit elements, widened
}

func newCombiner() *combiner {
	return &combiner{make([]byte, block), make([]float32, block/2), make([]float32, block/2)}
}

// limit is the largest number of bytes that combine takes.
func (c *combiner) limit(dtype tensor.DType, ranks int) int {
	if ranks > 2 || dtype == tensor.F16 || dtype == tensor.BF16 {
		return block
	}
	return 1 << 30
}

// combine sets dst to the combination of the sources in their order. One of them
// may be dst itself.
func (c *combiner) combine(how backend.Reduction, dtype tensor.DType, dst []byte, sources [][]byte) {
	if dtype == tensor.F16 || dtype == tensor.BF16 {
		c.halves(how, dtype, dst, sources)
		return
	}
	acc := sources[0]
	if len(sources) == 1 {
		copy(dst, acc)
	}
	for i, s := range sources[1:] {
		to := c.between
		if i == len(sources)-2 {
			to = dst
		}
		pair(how, dtype, to[:len(dst)], acc, s)
		acc = to[:len(dst)]
	}
}

func (c *combiner) halves(how backend.Reduction, dtype tensor.DType, dst []byte, sources [][]byte) {
	n := len(dst) / 2
	acc, add := c.acc[:n], c.add[:n]
	tensor.WidenHalf(dtype, acc, view[uint16](sources[0]))
	for _, s := range sources[1:] {
		tensor.WidenHalf(dtype, add, view[uint16](s))
		floats(how, acc, acc, add)
	}
	tensor.NarrowHalf(dtype, view[uint16](dst), acc)
}

// pair combines two ranks.
func pair(how backend.Reduction, dtype tensor.DType, dst, x, y []byte) {
	switch dtype {
	case tensor.F32:
		floats(how, view[float32](dst), view[float32](x), view[float32](y))
	case tensor.F64:
		numbers(how, view[float64](dst), view[float64](x), view[float64](y))
	case tensor.I64:
		numbers(how, view[int64](dst), view[int64](x), view[int64](y))
	case tensor.I32:
		numbers(how, view[int32](dst), view[int32](x), view[int32](y))
	default: // bool: 0 or 1
		for i := range dst {
			dst[i] = x[i] | y[i]
		}
	}
}

// The quickest vector functions of this machine.
var vectorAdd, vectorMax = vector.Sets()[0].Binary["add"], vector.Sets()[0].Binary["maximum"]

// floats takes vectors as far as they go.
func floats(how backend.Reduction, dst, x, y []float32) {
	n := len(dst) &^ (vector.Lanes - 1)
	f := vectorAdd
	if how == backend.Max {
		f = vectorMax
	}
	if n > 0 {
		f(dst[:n], x[:n], y[:n])
	}
	numbers(how, dst[n:], x[n:], y[n:])
}

func numbers[T float32 | float64 | int32 | int64](how backend.Reduction, dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if how == backend.Max {
		for i := range dst {
			dst[i] = max(x[i], y[i])
		}
		return
	}
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

// view is memory as elements.
func view[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// memory is the storage of a tensor.
func memory(t *tensor.Tensor) []byte {
	switch t.DType() {
	case tensor.F32:
		return bytesOf(t.Float32())
	case tensor.F64:
		return bytesOf(t.Float64())
	case tensor.F16, tensor.BF16:
		return bytesOf(t.Bits16())
	case tensor.I64:
		return bytesOf(t.Int64())
	case tensor.I32:
		return bytesOf(t.Int32())
	default:
		return bytesOf(t.Bool())
	}
}

func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}
