package shader

import "math/bits"

// maxLanes is the most invocations that a workgroup can have here.
const maxLanes = 1024

// A mask is the set of invocations of a workgroup that run now, as bits. All
// of them lie in [lo, hi), and n is how many there are.
type mask struct {
	bits      [maxLanes / 64]uint64
	lo, hi, n int
}

// allLanes is the mask of the first n invocations.
func allLanes(n int) (m mask) {
	for i := range n {
		m.bits[i/64] |= 1 << (i % 64)
	}
	m.count()
	return m
}

// count computes lo, hi and n from the bits.
func (m *mask) count() {
	m.lo, m.hi, m.n = 0, 0, 0
	for i, w := range m.bits {
		if w == 0 {
			continue
		}
		if m.n == 0 {
			m.lo = i*64 + bits.TrailingZeros64(w)
		}
		m.hi = i*64 + bits.Len64(w)
		m.n += bits.OnesCount64(w)
	}
}

// add is the union with o.
func (m *mask) add(o *mask) {
	if o.n == 0 {
		return
	}
	if m.n == 0 {
		*m = *o
		return
	}
	for i := range m.bits {
		m.bits[i] |= o.bits[i]
	}
	m.count()
}

// split parts the lanes of m by a condition of each lane, as 0 or 1.
func (m *mask) split(cond []uint32) (yes, no mask) {
	for i := m.lo / 64; i*64 < m.hi; i++ {
		var w uint64
		for b, c := range cond[i*64 : min(i*64+64, m.hi)] {
			w |= uint64(c&1) << (b & 63)
		}
		yes.bits[i] = m.bits[i] & w
		no.bits[i] = m.bits[i] &^ w
	}
	yes.count()
	no.count()
	return yes, no
}

// first is the first lane of a mask that has one.
func (m *mask) first() int { return m.lo }

// missing is the first of n lanes that the mask lacks.
func (m *mask) missing(n int) int {
	for i := range n {
		if m.bits[i/64]>>(i%64)&1 == 0 {
			return i
		}
	}
	return n
}
