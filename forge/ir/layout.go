package ir

import "slices"

// Layout is where the elements of a value stand in the storage that holds them:
// element (i0, i1, ...) at index Offset + i0*Strides[0] + i1*Strides[1] + ...,
// counted in elements.
type Layout struct {
	Offset  int
	Strides []int // one per dimension, not negative; 0 repeats an element
}

// Dense is the row-major layout of a shape from the start of its storage.
func Dense(shape []int) Layout {
	strides := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	return Layout{Strides: strides}
}

// Equal reports whether two layouts of one shape put every element in the same
// place. The strides of dimensions of size 1 do not matter, and no stride does
// where there are no elements.
func (l Layout) Equal(m Layout, shape []int) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	if l.Offset != m.Offset {
		return false
	}
	for i, d := range shape {
		if d > 1 && l.Strides[i] != m.Strides[i] {
			return false
		}
	}
	return true
}

// IsDense reports whether the layout is [Dense] but for its offset.
func (l Layout) IsDense(shape []int) bool {
	return Layout{Strides: l.Strides}.Equal(Dense(shape), shape)
}

// Extent is one more than the largest index that the layout reaches; 0 where
// there are no elements.
func (l Layout) Extent(shape []int) int {
	last := l.Offset
	for i, d := range shape {
		if d == 0 {
			return 0
		}
		last += (d - 1) * l.Strides[i]
	}
	return last + 1
}

// Reshape is the layout of the same elements, in the same order, under another
// shape of equal size; ok is false when no strides can express it.
//
// Neighbouring dimensions of the old shape that are evenly spaced in storage
// are merged into runs, and each run is split again into new dimensions. A new
// dimension that would span two runs cannot be expressed.
func (l Layout) Reshape(from, to []int) (_ Layout, ok bool) {
	if slices.Contains(from, 0) {
		return Layout{Offset: l.Offset, Strides: Dense(to).Strides}, true
	}
	out := Layout{Offset: l.Offset, Strides: make([]int, len(to))}
	j := len(to) - 1
	for i := len(from) - 1; i >= 0; {
		size, step := from[i], l.Strides[i]
		i--
		for i >= 0 && (from[i] == 1 || size == 1 || l.Strides[i] == step*size) {
			if size == 1 {
				step = l.Strides[i]
			}
			size *= from[i]
			i--
		}
		for ; j >= 0 && size%to[j] == 0 && (size > 1 || to[j] == 1); j-- {
			out.Strides[j] = step
			step *= to[j]
			size /= to[j]
		}
		if size > 1 {
			return Layout{}, false
		}
	}
	return out, j < 0 || !slices.ContainsFunc(to[:j+1], func(d int) bool { return d != 1 })
}
