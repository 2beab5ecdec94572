package cuda

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/backend/triton/compile"
)

// unit is one CUDA C file.
type unit struct {
	target   target
	text     strings.Builder
	known    map[string]string // the names of kernels, by text
	shared   map[string]bool   // blocks that are there
	specific bool              // it has instructions of one architecture alone
	// triton offers kernels of Triton beside those of the file; nil for none.
	triton func() (*compile.Compiler, error)
}

func newUnit(t target) *unit {
	return &unit{target: t, known: make(map[string]string), shared: make(map[string]bool)}
}

// placeholder stands for the name of a kernel in its text.
const placeholder = "@kernel@"

// add writes a kernel, unless an equal one is there, and gives its name.
func (u *unit) add(op string, k piece) string {
	for _, block := range k.shared {
		if !u.shared[block] {
			u.shared[block] = true
			u.text.WriteString("\n" + block)
		}
	}
	u.specific = u.specific || k.specific
	name, known := u.known[k.text]
	if !known {
		name = fmt.Sprintf("%s_%d", op, len(u.known))
		u.known[k.text] = name
		u.text.WriteString("\n" + strings.ReplaceAll(k.text, placeholder, name))
	}
	return name
}

// arch is the architecture to compile for.
func (u *unit) arch() string {
	if u.specific {
		return u.target.capability.Arch() + "a"
	}
	return u.target.capability.Arch()
}

// source is the file.
func (u *unit) source() nvrtc.Source { return u.sourceFor(u.arch()) }

// sourceFor is the file for another architecture than its own.
func (u *unit) sourceFor(arch string) nvrtc.Source {
	return nvrtc.Source{Name: "program.cu", Text: prelude + u.text.String(), Arch: arch, Options: []string{"--device-int128"}}
}
