package plan

import "math/bits"

// boundKernels is the number of kernels up to which the bound looks at whole
// paths, which takes quadratic time and memory; beyond it looks at each kernel
// with its own operands and results.
const boundKernels = 4096

// bound is a number of bytes that every schedule has live at some step. When a
// kernel runs, these storages are live whatever the order: those that it or a
// kernel before it on some path wrote first, and that it or a kernel after it on
// some path reads.
func (a *analysis) bound(opts Options) int64 {
	need := make([]int64, len(a.kernels))
	if len(a.kernels) <= boundKernels {
		a.addPaths(need)
	} else {
		a.addOperands(need)
	}
	var most int64
	for k, bytes := range need {
		if !opts.NoReuseInPlace && a.donor(k, func(int) bool { return true }) != notWritten {
			bytes -= a.storages[a.kernels[k].writes[0]].bytes
		}
		most = max(most, bytes)
	}
	return most
}

func (a *analysis) addOperands(need []int64) {
	for k := range a.kernels {
		touched := make(map[int]bool)
		for _, list := range [][]int{a.kernels[k].reads, a.kernels[k].writes} {
			for _, s := range list {
				if !touched[s] {
					need[k] += a.storages[s].bytes
				}
				touched[s] = true
			}
		}
	}
}

// set is a set of kernels.
type set []uint64

func (s set) add(k int) { s[k/64] |= 1 << (k % 64) }

func (s set) union(t set) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (a *analysis) addPaths(need []int64) {
	n := len(a.kernels)
	newSet := func() set { return make(set, (n+63)/64) }
	above, below := make([]set, n), make([]set, n) // kernels that must run before, after; and itself
	for k := range n {
		above[k] = newSet()
		above[k].add(k)
		for _, p := range a.kernels[k].after {
			above[k].union(above[p])
		}
	}
	for k := n - 1; k >= 0; k-- {
		below[k] = newSet()
		below[k].add(k)
		for _, c := range a.kernels[k].before {
			below[k].union(below[c])
		}
	}
	for i := range a.storages {
		s := &a.storages[i]
		if s.place != InSlot {
			continue
		}
		used := newSet()
		for _, k := range s.writers {
			used.union(above[k])
		}
		for _, k := range s.readers {
			used.union(above[k])
		}
		for w, word := range below[s.writers[0]] {
			if !s.escapes {
				word &= used[w]
			}
			for ; word != 0; word &= word - 1 {
				need[w*64+bits.TrailingZeros64(word)] += s.bytes
			}
		}
	}
}
