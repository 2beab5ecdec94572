package triton

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed python/operations.py
var operationsText string

// operations are the functions that kernels may call, in the order of the file.
var operations = sync.OnceValue(func() *library { return readOperations(operationsText) })

type library struct {
	head  string // the comment before the first
	order []string
	text  map[string]string
}

var definition = regexp.MustCompile(`(?m)^@triton\.jit\ndef (\w+)\(`)

func readOperations(text string) *library {
	l := &library{text: make(map[string]string)}
	at := definition.FindAllStringSubmatchIndex(text, -1)
	l.head = strings.TrimSpace(text[:at[0][0]])
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := text[m[2]:m[3]]
		l.order = append(l.order, name)
		l.text[name] = strings.TrimSpace(text[m[0]:end])
	}
	return l
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// used are the operations that texts call, by way of others or not, in order.
func (l *library) used(texts ...string) []string {
	found := make(map[string]bool)
	for len(texts) > 0 {
		text := texts[0]
		texts = texts[1:]
		for _, w := range word.FindAllString(text, -1) {
			if body, is := l.text[w]; is && !found[w] {
				found[w] = true
				texts = append(texts, body)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.order), func(name string) bool { return !found[name] })
}
