package wgsl

import "forgekernel/forge/loop"

// Parts of lines that are folded in two passes are at least so long: those of a workgroup,
// and those of an invocation, which has a line where neighbouring lines are neighbours in
// memory. There are no more parts than fill a large device.
const (
	groupPart       = 1 << 11
	invocationPart  = 1 << 6
	enoughGroups    = 128
	enoughLines     = 128 * rowGroup
	partsWorthwhile = 8
)

// inPasses replaces kernels that fold few long lines by two: one that folds parts of each
// line, and one that folds the results in order.
func inPasses(kernels []*loop.Kernel) []*loop.Kernel {
	var list []*loop.Kernel
	for _, k := range kernels {
		if parts := partsOf(k); parts > 1 {
			list = append(list, loop.InParts(k, parts)...)
		} else {
			list = append(list, k)
		}
	}
	return list
}

// partsOf is the number of parts of the lines of a kernel; 1 when it stays whole.
func partsOf(k *loop.Kernel) int {
	if !loop.FoldsLines(k) {
		return 1
	}
	points, line := product(k.Nest.Outer), k.Nest.Line[0]
	part, enough := groupPart, enoughGroups
	if across(k.Nest) {
		part, enough = invocationPart, enoughLines
	}
	parts := 1
	for line%(2*parts) == 0 && line/(2*parts) >= part && points*parts < enough {
		parts *= 2
	}
	if parts < partsWorthwhile {
		return 1
	}
	return parts
}
