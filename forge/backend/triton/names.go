package triton

import (
	"fmt"
	"strings"
	"unicode"

	"forgekernel/forge/ir"
)

// reserved are the words of Python and what the text of kernels calls by name. The
// operations are added by [readOperations].
var reserved = func() map[string]bool {
	words := make(map[string]bool)
	for _, w := range strings.Fields(`False None True and as assert async await break class continue def del elif else except
		finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
		triton tl libdevice float int min max range LAUNCHES
		row rows column columns offset inside when place step fault_ptr ROWS BLOCK
		M N K BLOCK_M BLOCK_N BLOCK_K GROUP_M m n k batch tile tiles_m tiles_n tile_m tile_n first_m group_m in_m in_n acc start`) {
		words[w] = true
	}
	for _, o := range operations.order {
		words[o] = true
	}
	return words
}()

// identifier makes a name of Python of a value's.
func identifier(value string) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_' {
			return r
		}
		return '_'
	}, strings.TrimLeft(value, "%$"))
	switch {
	case name == "" || unicode.IsDigit(rune(name[0])):
		return "v" + name
	case reserved[name]:
		return name + "_"
	}
	return name
}

// unique is a name, with a number behind it when it is taken, which it then is.
func unique(name string, taken map[string]bool) string {
	free := name
	for i := 1; taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	taken[free] = true
	return free
}

// describe is a node in one line: its result, its operator and its operands, what a
// fused region consists of, and where the program has it.
func describe(n *ir.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %v = %s", n.Out[0], n.Out[0].Spec, n.Op.Name)
	for i, v := range n.In {
		fmt.Fprintf(&b, "%s %v", [2]string{"", ","}[min(i, 1)], v)
	}
	if n.Body != nil {
		var ops []string
		for _, m := range n.Body.Nodes {
			if m.Op.Class != ir.Constant {
				ops = append(ops, m.Op.Name)
			}
		}
		fmt.Fprintf(&b, " (%s)", strings.Join(ops, ", "))
	}
	if len(n.Pos) > 0 && n.Pos[0].IsKnown() {
		fmt.Fprintf(&b, "  # %v", n.Pos[0])
	}
	return b.String()
}

// docstring is text between three quotes.
func docstring(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(text)
}
