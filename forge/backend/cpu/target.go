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
//go:embed source/prelude.c
var prelude string

// Target is the vector instructions that code is generated for.
type Target struct {
	Name      string
	Lanes     int // floats in a vector
	Registers int // vector registers
	flags     []string
}

var (
	avx512 = Target{"avx512", 16, 32, []string{"-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"}}
	avx2   = Target{"avx2", 8, 16, []string{"-mavx2", "-mfma"}}
	base   = Target{"baseline", 4, 16, nil} // SSE2 or NEON
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

func (t Target) prelude() string { return fmt.Sprintf("#define LANES %d\n%s\n", t.Lanes, prelude) }

// preludeName finds what the prelude defines that depends on LANES.
var preludeName = regexp.MustCompile(`(?m)^(?:INLINE \w+|FOLD\(|typedef \w+) ?(\w+)`)

// again is the prelude behind another one: what it defines gets other names.
func (t Target) again() string {
	var b strings.Builder
	b.WriteString("\n#undef LANES\n")
	for _, m := range preludeName.FindAllStringSubmatch(prelude, -1) {
		fmt.Fprintf(&b, "#undef %s\n#define %s %s_%d\n", m[1], m[1], m[1], t.Lanes)
	}
	return b.String() + t.prelude()
}
