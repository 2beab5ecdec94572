package op

import (
	"fmt"

	"forgekernel/forge/ir"
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

// sameFloat checks that all operands have one floating-point type.
func sameFloat(n *ir.Node) (tensor.DType, error) {
	dtype := n.In[0].Spec.DType
	for i, v := range n.In {
		if d := v.Spec.DType; d != tensor.F32 && d != tensor.F64 {
			return 0, fmt.Errorf("operand %v has type %v; f32 or f64 is needed", v, d)
		} else if d != dtype {
			return 0, fmt.Errorf("operands %v and %v have different types, %v and %v", n.In[0], n.In[i], dtype, d)
		}
	}
	return dtype, nil
}

// inferElementwise is the inference of every elementwise operator: one
// floating-point type, all operand shapes broadcast.
func inferElementwise(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := sameFloat(n)
	if err != nil {
		return nil, err
	}
	shape := n.In[0].Spec.Shape
	for _, v := range n.In[1:] {
		if shape, err = Broadcast(shape, v.Spec.Shape); err != nil {
			return nil, err
		}
	}
	return []ir.Spec{ir.Spec{DType: dtype, Shape: shape}.Clone()}, nil
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
	inner := len(w.dims) - 1
	run, step := w.dims[inner], w.strides[inner]
	for done := 0; done < len(buf); {
		base, at := w.locate(lo + done)
		n := min(run-at, len(buf)-done)
		if dst := buf[done : done+n]; step == 0 {
			v := src[base]
			for i := range dst {
				dst[i] = v
			}
		} else if from := base + at*step; step == 1 {
			copy(dst, src[from:from+n])
		} else {
			for i := range dst {
				dst[i] = src[from+i*step]
			}
		}
		done += n
	}
	return buf
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
