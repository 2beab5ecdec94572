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
	parts    []part
	known    map[string]string // the names of kernels, by text
	texts    map[string]string // of kernels as the file has them, by name
	uses     map[string]int    // of kernels, by name
	shared   map[string]bool   // blocks that are there
	specific bool              // it has instructions of one architecture alone
	// beside offers more ways to run nodes, none of which is ever the default.
	beside []template
	triton func() (*compile.Compiler, error) // of kernels that are not of the file
	// mailed says why ranks of a group do not exchange small tensors by kernels; empty where
	// they do. It is nil without groups.
	mailed func(group string, size int) (why string)
}

// part is text that kernels share, or a kernel.
type part struct{ kernel, text string }

func newUnit(t target) *unit {
	return &unit{target: t, known: make(map[string]string), texts: make(map[string]string), uses: make(map[string]int), shared: make(map[string]bool)}
}

// placeholder stands for the name of a kernel in its text.
const placeholder = "@kernel@"

// add writes a kernel, unless an equal one is there, and gives its name.
func (u *unit) add(op string, k piece) string {
	for _, block := range k.shared {
		if !u.shared[block] {
			u.shared[block] = true
			u.parts = append(u.parts, part{text: block})
		}
	}
	u.specific = u.specific || k.specific
	name, known := u.known[k.text]
	if !known {
		name = fmt.Sprintf("%s_%d", op, len(u.known))
		u.known[k.text] = name
		text := k.text
		if !k.enters {
			text = entering(text)
		}
		u.texts[name] = strings.ReplaceAll(text, placeholder, name)
		u.parts = append(u.parts, part{name, u.texts[name]})
	}
	u.uses[name]++
	return name
}

// release is the end of one use of a kernel. The file has those that are used.
func (u *unit) release(name string) { u.uses[name]-- }

// text is the file behind the prelude.
func (u *unit) text() string {
	var b strings.Builder
	for _, p := range u.parts {
		if p.kernel == "" || u.uses[p.kernel] > 0 {
			b.WriteString("\n" + p.text)
		}
	}
	return b.String()
}

// entering is a kernel that begins with what all kernels do: see ENTER in elements.cu.
func entering(text string) string {
	head := strings.Index(text, placeholder+"(")
	if body := strings.IndexByte(text[max(head, 0):], '{'); head >= 0 && body >= 0 {
		at := head + body + 1
		return text[:at] + " ENTER;" + text[at:]
	}
	return text
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
	return nvrtc.Source{Name: "program.cu", Text: prelude() + u.text(), Arch: arch, Options: []string{"--device-int128"}}
}
