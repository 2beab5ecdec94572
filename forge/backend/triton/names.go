package triton

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// reserved are the words of Python and what the text of kernels calls by name. The
// operations are added by [readOperations].
var reserved = sync.OnceValue(func() map[string]bool {
	words := make(map[string]bool)
	for _, w := range strings.Fields(`False None True and as assert async await break class continue def del elif else except
		finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
		triton tl libdevice float int min max range LAUNCHES
		row rows column columns offset inside when place exists step fault_ptr ROWS BLOCK
		M N K BLOCK_M BLOCK_N BLOCK_K GROUP_M m n k batch tile tiles_m tiles_n tile_m tile_n first_m group_m in_m in_n acc start`) {
		words[w] = true
	}
	for _, o := range operations().order {
		words[o] = true
	}
	return words
})

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
	case reserved()[name]:
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

// docstring is text between three quotes.
func docstring(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(text)
}
