package display

import (
	"fmt"
	"slices"
)

// repeat is times blocks of size nodes from start on, in order.
type repeat struct{ start, size, times int }

func (r repeat) saves() int { return r.size * (r.times - 1) }

// kinds numbers the kinds of the nodes in order. Nodes that are folded already are of
// one of their own.
func (f *folder) kinds() []int {
	number := make(map[string]int)
	kinds := make([]int, len(f.order))
	for i, n := range f.order {
		kind := f.nodes[n].kind()
		if f.block[n] >= 0 {
			kind = fmt.Sprint("folded ", i)
		}
		if _, seen := number[kind]; !seen {
			number[kind] = len(number)
		}
		kinds[i] = number[kind]
	}
	return kinds
}

// repeats are the longest runs in which each kind of node comes again after size
// nodes, for each size.
func repeats(kinds []int) (list []repeat) {
	for size := 1; size <= len(kinds)/2; size++ {
		run := 0
		for i := 0; i+size <= len(kinds); i++ {
			if i+size < len(kinds) && kinds[i] == kinds[i+size] {
				run++
				continue
			}
			if times := run/size + 1; times > 1 {
				list = append(list, repeat{i - run, size, times})
			}
			run = 0
		}
	}
	// Of equal savings the shortest block comes first: it shows the most repetition.
	slices.SortStableFunc(list, func(a, b repeat) int { return b.saves() - a.saves() })
	return list
}

// aligned is the part of r, at the place where the fewest edges enter a block from the
// one before, whose blocks are connected alike.
func (f *folder) aligned(r repeat, kinds []int, inputs [][]input) repeat {
	var best repeat
	fewest := -1
	for shift := range r.size {
		at := repeat{r.start + shift, r.size, r.times}
		if shift > 0 && !within(kinds, r, at) {
			at.times--
		}
		if at.times = f.alike(at, inputs); at.times < 2 {
			continue
		}
		if crossing := f.crossing(at, inputs); at.times > best.times || at.times == best.times && crossing < fewest {
			best, fewest = at, crossing
		}
	}
	return best
}

// within reports whether all blocks of the shifted repeat repeat still.
func within(kinds []int, r, at repeat) bool {
	end := at.start + at.size*at.times
	if end > len(kinds) {
		return false
	}
	for i := r.start + r.size*r.times; i < end; i++ {
		if kinds[i] != kinds[i-at.size] {
			return false
		}
	}
	return true
}

// input is where an edge into a node comes from: a place in order, or -1.
type input struct {
	from int
	port string
}

// inputs are those of the nodes in order.
func (f *folder) inputs() [][]input {
	place := make(map[int]int, len(f.order))
	for i, n := range f.order {
		place[n] = i
	}
	list := make([][]input, len(f.order))
	for _, e := range f.edges {
		to, is := place[e.to]
		if !is {
			continue
		}
		from, is := place[e.from]
		if !is {
			from = -1
		}
		list[to] = append(list[to], input{from, e.FromPort + "\x00" + e.ToPort})
	}
	return list
}

// alike is how many blocks from the first on are connected as the second is: within
// themselves and to the one before. What comes from elsewhere may differ.
func (f *folder) alike(r repeat, inputs [][]input) int {
	for block := 1; block < r.times; block++ {
		for i := range r.size {
			a, b := r.start+(block-1)*r.size+i, r.start+block*r.size+i
			if !equalInputs(inputs[a], inputs[b], r, block) {
				return block
			}
		}
	}
	return r.times
}

// equalInputs compares the inputs of a node in the block before with those of its
// counterpart. Into the first block anything may come where others read the one before.
func equalInputs(a, b []input, r repeat, block int) bool {
	if len(a) != len(b) {
		return false
	}
	base := r.start + block*r.size
	for i := range a {
		if a[i].port != b[i].port {
			return false
		}
		inside := b[i].from >= base
		before := b[i].from >= base-r.size && !inside
		switch {
		case inside && a[i].from != b[i].from-r.size:
			return false
		case before && block > 1 && a[i].from != b[i].from-r.size:
			return false
		case !inside && a[i].from >= base-r.size:
			return false
		case !inside && !before && b[i].from >= r.start: // from a block further back
			return false
		}
	}
	return true
}

// crossing counts the values that enter the second block from the first.
func (f *folder) crossing(r repeat, inputs [][]input) int {
	var from []int
	for i := r.start + r.size; i < r.start+2*r.size && i < len(inputs); i++ {
		for _, in := range inputs[i] {
			if in.from >= r.start && in.from < r.start+r.size && !slices.Contains(from, in.from) {
				from = append(from, in.from)
			}
		}
	}
	return len(from)
}
