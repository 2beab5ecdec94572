package cpu

import (
	_ "embed"
	"fmt"
	"runtime"

	"golang.org/x/sys/cpu"
)

// prelude is the C text that every unit begins with: vectors, the elementary
// functions, folds.
//
//go:embed source/prelude.c
var prelude string

// types and elementary are the rest of it: the types other than f32, and functions
// that need them.
//
//go:embed source/types.c
var types string

// attention is what the kernels of attention share.
//
//go:embed source/attention.c
var attention string

//go:embed source/elementary.c
var elementary string

// Target is the vector instructions that code is generated for.
type Target struct {
	Name      string
	Lanes     int // floats in a vector
	Registers int // vector registers
	flags     []string
}

var (
	avx512 = Target{"avx512", 16, 32, []string{"-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"}}
	avx2   = Target{"avx2", 8, 16, []string{"-mavx2", "-mfma", "-mf16c"}} // F16C is older than both
	base   = Target{"baseline", 4, 16, nil}                               // SSE2 or NEON
)

// Targets returns what this machine runs, the widest first.
func Targets() []Target {
	var list []Target
	if runtime.GOARCH == "amd64" {
		if x := &cpu.X86; x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
			list = append(list, avx512)
		}
		if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
			list = append(list, avx2)
		}
	}
	return append(list, base)
}

func (t Target) prelude() string {
	return fmt.Sprintf("#define LANES %d\n%s%s%s%s\n", t.Lanes, prelude, types, elementary, attention)
}
