package wgsl

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed source/floats.wgsl
var floatsText string

//go:embed source/pairs.wgsl
var pairsText string

//go:embed source/halves.wgsl
var halvesText string

//go:embed source/integers.wgsl
var integersText string

// operations are the declarations that kernels may use, in the order of the files.
var operations = sync.OnceValue(func() *library {
	return readOperations(strings.Join([]string{floatsText, pairsText, halvesText, integersText}, "\n"))
})

// library is WGSL cut into its declarations, each with the comment before it.
type library struct {
	order []string
	text  map[string]string
	uses  map[string][]string // what a declaration names of the others
}

var (
	declaration = regexp.MustCompile(`(?m)^(?:fn|struct|const) (\w+)`)
	word        = regexp.MustCompile(`[A-Za-z_]\w*`)
)

func readOperations(text string) *library {
	l := &library{text: make(map[string]string), uses: make(map[string][]string)}
	for _, block := range strings.Split(text, "\n\n") {
		if m := declaration.FindStringSubmatch(block); m != nil {
			l.order = append(l.order, m[1])
			l.text[m[1]] = strings.TrimSpace(block)
		}
	}
	for name, text := range l.text {
		l.uses[name] = l.named(text)
	}
	return l
}

// named are the declarations that a text names.
func (l *library) named(text string) []string {
	var list []string
	for _, w := range word.FindAllString(text, -1) {
		if _, is := l.text[w]; is {
			list = append(list, w)
		}
	}
	return list
}

// behind is the text of the declarations that a kernel uses, by way of others or not.
func (l *library) behind(kernel string) string {
	found := make(map[string]bool)
	for next := l.named(kernel); len(next) > 0; {
		name := next[0]
		if next = next[1:]; !found[name] {
			found[name] = true
			next = append(next, l.uses[name]...)
		}
	}
	var b strings.Builder
	for _, name := range l.order {
		if found[name] {
			b.WriteString("\n" + l.text[name] + "\n")
		}
	}
	return b.String()
}
