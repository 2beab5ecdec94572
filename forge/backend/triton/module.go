package triton

import (
	"fmt"
	"strings"
)

// String is the text of the file.
func (m *Module) String() string { return m.file(m.Kernels) }

func (m *Module) file(kernels []*Kernel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"Triton kernels of the graph %s, compiled with enable_fp_fusion=False.\n\n", docstring(m.Name))
	b.WriteString("Run the entries of LAUNCHES in order, each with the constants that all its candidates\nhave and those of one candidate.\n\"\"\"\n\n")
	b.WriteString("import triton\nimport triton.language as tl\n")
	var texts []string
	for _, k := range kernels {
		texts = append(texts, k.Text)
	}
	used := operations().used(texts...)
	body := strings.Join(texts, "\n\n")
	if strings.Contains(body, "libdevice") || usesLibdevice(used) {
		b.WriteString("from triton.language.extra import libdevice\n")
	}
	if len(used) > 0 {
		b.WriteString("\n" + operations().head + "\n")
		for _, name := range used {
			b.WriteString("\n\n" + operations().text[name] + "\n")
		}
	}
	for _, n := range m.Missing {
		fmt.Fprintf(&b, "\n# %s = %s has no kernel here: %s.\n", n.Value, n.Op, strings.ReplaceAll(n.Why, "\n", " "))
	}
	for _, t := range texts {
		b.WriteString("\n\n" + t)
	}
	b.WriteString("\n\nLAUNCHES = [\n")
	for _, k := range kernels {
		b.WriteString(k.entry())
	}
	b.WriteString("]\n")
	return b.String()
}

func usesLibdevice(names []string) bool {
	for _, n := range names {
		if strings.Contains(operations().text[n], "libdevice") {
			return true
		}
	}
	return false
}

// entry is the line of a kernel in the table.
func (k *Kernel) entry() string {
	var b strings.Builder
	b.WriteString("    dict(\n")
	fmt.Fprintf(&b, "        value=%q,\n        kernel=%s,\n        arguments=[%s],\n", k.Value, k.Name, k.arguments())
	if k.Faults {
		b.WriteString("        faults=True,  # the address of the word of faults and the number of the step follow\n")
	}
	fmt.Fprintf(&b, "        constants=dict(%s),\n        candidates=[\n", constants(k.Constants))
	for _, l := range k.Candidates {
		fmt.Fprintf(&b, "            dict(grid=(%d, %d, %d), constants=dict(%s), num_warps=%d, num_stages=%d),\n",
			l.Grid[0], l.Grid[1], l.Grid[2], constants(l.Constants), l.Warps, l.Stages)
	}
	b.WriteString("        ],\n    ),\n")
	return b.String()
}

func (k *Kernel) arguments() string {
	var list []string
	for _, a := range k.Arguments {
		list = append(list, fmt.Sprintf("%q", a.String()))
	}
	return strings.Join(list, ", ")
}

func constants(list []Constant) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, fmt.Sprintf("%s=%d", c.Name, c.Value))
	}
	return strings.Join(parts, ", ")
}
