package vector

import "golang.org/x/sys/cpu"

// Sets are those that this machine runs, the quickest first and [Generic] last.
func Sets() []*Set {
	var list []*Set
	if x := &cpu.X86; x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
		list = append(list, &avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		list = append(list, &avx2)
	}
	return append(list, &Generic)
}
