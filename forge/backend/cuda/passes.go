package cuda

import "forgekernel/forge/loop"

// Parts of lines that are folded in two passes are at least so long: those of a block of
// threads, and those of a single thread, which has a line where neighbouring lines are
// neighbours in memory.
const (
	blockPart  = 1 << 11
	threadPart = 1 << 6
)

// inPasses replaces kernels that fold few long lines by two: one that folds parts of each
// line, as many as there are multiprocessors, and one that folds the results in order.
func (t target) inPasses(kernels []*loop.Kernel) []*loop.Kernel {
	var list []*loop.Kernel
	for _, k := range kernels {
		if parts := t.partsOf(k); parts > 1 {
			list = append(list, loop.InParts(k, parts)...)
		} else {
			list = append(list, k)
		}
	}
	return list
}

// partsOf is the number of parts of the lines of a kernel; 1 when it stays whole.
func (t target) partsOf(k *loop.Kernel) int {
	if !loop.FoldsLines(k) {
		return 1
	}
	n := k.Nest
	points, line := product(n.Outer), n.Line[0]
	part, enough := blockPart, 2*t.sms
	if (&nestEmitter{emitter: &emitter{kernel: k}, nest: n, vars: make([]string, len(n.Outer)+1)}).across() {
		part, enough = threadPart, t.sms*2*blockThreads
	}
	if line < 16*part || points > enough/4 {
		return 1
	}
	parts := 1
	for line%(2*parts) == 0 && line/(2*parts) >= part && points*parts < enough {
		parts *= 2
	}
	return parts
}
