package plan

import (
	"cmp"
	"slices"
)

// packings are the costlier ways to pack, cheapest first.
var packings = []func([]buffer) *layout{
	packLargestFirst,
	func(b []buffer) *layout { return packOffsets("offsets, largest first", b, sortedBy(b, bytesOf)) },
	func(b []buffer) *layout { return packOffsets("offsets, longest first", b, sortedBy(b, stepsOf)) },
	func(b []buffer) *layout {
		return packOffsets("offsets, largest area first", b, sortedBy(b, func(b *buffer) int64 { return bytesOf(b) * stepsOf(b) }))
	},
}

func newLayout(packing string, buffers []buffer) *layout {
	return &layout{packing: packing, slot: make([]int, len(buffers)), offset: make([]int64, len(buffers))}
}

// addSlot opens a slot and returns its index.
func (l *layout) addSlot(k kind, bytes int64) int {
	l.slots = append(l.slots, Slot{k.dtype, k.device, bytes})
	l.planned += bytes
	return len(l.slots) - 1
}

func (s Slot) kind() kind { return kind{s.DType, s.Device} }

// grow makes a slot hold at least bytes.
func (l *layout) grow(slot int, bytes int64) {
	if more := bytes - l.slots[slot].Bytes; more > 0 {
		l.slots[slot].Bytes += more
		l.planned += more
	}
}

// packBestFit walks through the buffers in order of time. Each takes the
// smallest free slot that is large enough, else the largest free slot, which
// grows (slots are sized before anything runs), else a new one. A slot holds one
// buffer at a time.
func packBestFit(buffers []buffer) *layout {
	l := newLayout("best fit", buffers)
	ends := make([]int, len(buffers)) // buffers in order of their end
	for i := range ends {
		ends[i] = i
	}
	slices.SortStableFunc(ends, func(x, y int) int { return cmp.Compare(buffers[x].end, buffers[y].end) })
	free := make(map[kind]*freeList)
	for i, b := range buffers { // already in order of their start
		for ; len(ends) > 0 && buffers[ends[0]].end < b.start; ends = ends[1:] {
			s := l.slot[ends[0]]
			free[buffers[ends[0]].kind].add(freeSlot{l.slots[s].Bytes, s})
		}
		if free[b.kind] == nil {
			free[b.kind] = &freeList{}
		}
		if s, ok := free[b.kind].take(b.bytes); ok {
			l.slot[i] = s
			l.grow(s, b.bytes)
		} else {
			l.slot[i] = l.addSlot(b.kind, b.bytes)
		}
	}
	return l
}

// freeSlot is a slot without a tenant.
type freeSlot struct {
	bytes int64
	slot  int
}

func compareFree(x, y freeSlot) int {
	return cmp.Or(cmp.Compare(x.bytes, y.bytes), cmp.Compare(x.slot, y.slot))
}

// freeList is sorted by size, then by number.
type freeList []freeSlot

func (f *freeList) add(s freeSlot) {
	at, _ := slices.BinarySearchFunc(*f, s, compareFree)
	*f = slices.Insert(*f, at, s)
}

// take removes the smallest slot of at least the given size, else the largest.
func (f *freeList) take(bytes int64) (slot int, ok bool) {
	if len(*f) == 0 {
		return 0, false
	}
	at, _ := slices.BinarySearchFunc(*f, freeSlot{bytes: bytes}, compareFree)
	at = min(at, len(*f)-1)
	slot = (*f)[at].slot
	*f = slices.Delete(*f, at, at+1)
	return slot, true
}

func bytesOf(b *buffer) int64 { return b.bytes }
func stepsOf(b *buffer) int64 { return int64(b.end - b.start + 1) }

// sortedBy lists the buffers by a descending measure; equal ones by size, then
// by start.
func sortedBy(buffers []buffer, measure func(*buffer) int64) []int {
	order := make([]int, len(buffers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := &buffers[i], &buffers[j]
		return cmp.Or(cmp.Compare(measure(y), measure(x)), cmp.Compare(y.bytes, x.bytes))
	})
	return order
}

// packLargestFirst packs by descending size: each buffer goes to the smallest
// slot whose tenants' lives are all disjoint from its own, and no slot grows.
func packLargestFirst(buffers []buffer) *layout {
	l := newLayout("largest first", buffers)
	var tenants [][]int // of each slot, by start
	for _, i := range sortedBy(buffers, bytesOf) {
		b := buffers[i]
		slot := len(l.slots) - 1
		at := 0
		for ; slot >= 0; slot-- { // the last slot is the smallest
			var ok bool
			if at, ok = gapFor(buffers, tenants[slot], b); ok && l.slots[slot].kind() == b.kind {
				break
			}
		}
		if slot < 0 {
			slot, at = l.addSlot(b.kind, b.bytes), 0
			tenants = append(tenants, nil)
		}
		l.slot[i] = slot
		tenants[slot] = slices.Insert(tenants[slot], at, i)
	}
	return l
}

// gapFor finds the place of a buffer among tenants with disjoint lives; ok is
// false when its life overlaps one of them.
func gapFor(buffers []buffer, tenants []int, b buffer) (at int, ok bool) {
	at, _ = slices.BinarySearchFunc(tenants, b.start, func(t, start int) int { return cmp.Compare(buffers[t].start, start) })
	if at > 0 && buffers[tenants[at-1]].end >= b.start {
		return 0, false
	}
	return at, at == len(tenants) || b.end < buffers[tenants[at]].start
}

// packOffsets makes one slot for each kind of values, in which buffers stand side
// by side. In the given order, each takes the smallest gap among those that live
// at the same time.
func packOffsets(packing string, buffers []buffer, order []int) *layout {
	l := newLayout(packing, buffers)
	slotOf := make(map[kind]int)
	placed := make(map[kind][]int) // by offset
	for _, i := range order {
		b := buffers[i]
		slot, ok := slotOf[b.kind]
		if !ok {
			slot = l.addSlot(b.kind, 0)
			slotOf[b.kind] = slot
		}
		l.slot[i] = slot
		l.offset[i] = l.smallestGap(buffers, placed[b.kind], b)
		l.grow(slot, l.offset[i]+b.bytes)
		at, _ := slices.BinarySearchFunc(placed[b.kind], l.offset[i], func(t int, offset int64) int { return cmp.Compare(l.offset[t], offset) })
		placed[b.kind] = slices.Insert(placed[b.kind], at, i)
	}
	return l
}

// smallestGap is the offset of the smallest gap that holds b between the placed
// buffers that live at the same time, or behind them.
func (l *layout) smallestGap(buffers []buffer, placed []int, b buffer) int64 {
	var top, best int64 // top is the end of what has been passed
	found, width := false, int64(0)
	for _, i := range placed {
		if buffers[i].end < b.start || b.end < buffers[i].start {
			continue
		}
		if gap := l.offset[i] - top; gap >= b.bytes && (!found || gap < width) {
			found, best, width = true, top, gap
		}
		top = max(top, (l.offset[i]+buffers[i].bytes+Align-1)/Align*Align)
	}
	if !found {
		return top
	}
	return best
}
