package op

import (
	"fmt"

	"forgekernel/forge/tensor"
)

// Broadcast returns the shape that NumPy's rule gives for two shapes: aligned
// at the last dimension, equal lengths stay and a length of 1 stretches.
func Broadcast(a, b []int) ([]int, error) {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		x, y := dimFromEnd(a, len(out)-1-i), dimFromEnd(b, len(out)-1-i)
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			return nil, fmt.Errorf("shapes %s and %s do not broadcast: dimension %d is %d on one side and %d on the other",
				tensor.FormatShape(a), tensor.FormatShape(b), i-len(out), x, y)
		}
	}
	return out, nil
}

// dimFromEnd is the length of the i-th dimension counted from the last, 1
// beyond the first.
func dimFromEnd(shape []int, i int) int {
	if i >= len(shape) {
		return 1
	}
	return shape[len(shape)-1-i]
}

// broadcastStrides gives, for each dimension of out, the step in a dense
// tensor of shape in; a stretched dimension has step 0.
func broadcastStrides(in, out []int) []int {
	strides := make([]int, len(out))
	dense := tensor.Strides(in)
	lead := len(out) - len(in)
	for i, d := range in {
		if d != 1 {
			strides[lead+i] = dense[i]
		}
	}
	return strides
}

// walker steps through one operand of an elementwise loop in the row-major
// order of the result. Dimensions that a single step covers are merged, so
// the innermost run is as long as the layouts allow.
type walker struct {
	dims    []int
	strides []int
	dense   bool // the operand has the result's own layout
}

func newWalker(in, out []int) walker {
	if tensor.ShapeEqual(in, out) {
		return walker{dense: true}
	}
	return stridedWalker(out, broadcastStrides(in, out))
}

// stridedWalker reads an operand whose step in dimension i of the result is
// strides[i].
func stridedWalker(out, strides []int) walker {
	var w walker
	for i, s := range strides {
		d := out[i]
		if d == 1 {
			continue
		}
		last := len(w.dims) - 1
		if last >= 0 && w.strides[last] == s*d {
			w.dims[last] *= d
			w.strides[last] = s
			continue
		}
		w.dims = append(w.dims, d)
		w.strides = append(w.strides, s)
	}
	if len(w.dims) == 0 {
		w.dims, w.strides = []int{1}, []int{0}
	}
	return w
}

// load returns the operand's elements for the result positions lo to hi-1:
// a piece of src itself where the layouts agree, else buf filled.
func load[T any](w *walker, src, buf []T, lo, hi int) []T {
	if w.dense {
		return src[lo:hi]
	}
	buf = buf[:hi-lo]
	w.runs(lo, hi, func(at, from, step, n int) {
		switch dst := buf[at-lo : at-lo+n]; step {
		case 0:
			repeat(dst, src[from])
		case 1:
			copy(dst, src[from:from+n])
		default:
			for i := range dst {
				dst[i] = src[from+i*step]
			}
		}
	})
	return buf
}

// runs calls f for each piece of the result positions lo to hi-1 that the
// operand holds at equal steps: n positions from at are the operand's elements
// from, from+step and so on.
func (w *walker) runs(lo, hi int, f func(at, from, step, n int)) {
	inner := len(w.dims) - 1
	run, step := w.dims[inner], w.strides[inner]
	for lo < hi {
		base, within := w.locate(lo)
		n := min(run-within, hi-lo)
		f(lo, base+within*step, step, n)
		lo += n
	}
}

// locate splits a result position into the operand offset of its innermost
// run and the position within that run.
func (w *walker) locate(pos int) (base, at int) {
	inner := len(w.dims) - 1
	at = pos % w.dims[inner]
	pos /= w.dims[inner]
	for i := inner - 1; i >= 0; i-- {
		base += pos % w.dims[i] * w.strides[i]
		pos /= w.dims[i]
	}
	return base, at
}
