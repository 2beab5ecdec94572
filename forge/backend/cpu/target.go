package cpu

import (
	_ "embed"
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// prelude is the C text that every unit begins with: vectors, the elementary
// functions, folds.
//
//go:embed source/c/prelude.c
var prelude string

// types and elementary are the rest of it: the types other than f32, and functions
// that need them.
//
//go:embed source/c/types.c
var types string

// attention is what the kernels of attention share.
//
//go:embed source/c/attention.c
var attention string

//go:embed source/c/elementary.c
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

// minLanes is the width of the narrowest vectors.
const minLanes = 4

// narrowed is the target with vectors of fewer floats; the registers stay.
func (t Target) narrowed(width int) Target {
	t.Lanes = width
	return t
}

func (t Target) prelude() string {
	return fmt.Sprintf("#define LANES %d\n%s%s%s%s\n", t.Lanes, prelude, types, elementary, attention)
}

// defined finds what the prelude defines that depends on LANES.
var defined = regexp.MustCompile(`(?m)^(?:INLINE \w+|typedef \w+) (\w+)`)

// pasted are the f32 functions that macros of the prelude define, which pastedCode
// does again, and its one structure.
var pasted = []string{
	"load_f32", "load_part_f32", "load_strided_f32", "store_f32", "store_part_f32", "store_strided_f32", "lane0_f32",
	"set_f32", "team", "choose_f32", "fold_sum_f32", "fold_max_f32", "fold_min_f32",
}

const pastedCode = `RAW(f32, float, vf)
INLINE vf set_f32(float x) { return set(x); }
INLINE vf choose_f32(vi m, vf a, vf b) { return choose(m, a, b); }
`

// again is the prelude behind another one, for kernels that compute in f32 alone:
// what it defines gets other names.
func (t Target) again() string {
	var b strings.Builder
	b.WriteString("\n#undef LANES\n")
	rename := func(name string) { fmt.Fprintf(&b, "#undef %s\n#define %s %s_%d\n", name, name, name, t.Lanes) }
	for _, m := range defined.FindAllStringSubmatch(prelude, -1) {
		rename(m[1])
	}
	for _, name := range pasted {
		rename(name)
	}
	return b.String() + fmt.Sprintf("#define LANES %d\n", t.Lanes) + prelude + pastedCode
}
