// Package scaffold has notebooks to begin with. They are notebooks as any other, which
// run as they are: what to replace is said where it stands.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	"forgekernel/kernel/notebook"
)

//go:embed templates/*.ipynb
var templates embed.FS

// Names lists the templates.
func Names() []string {
	entries, err := templates.ReadDir("templates")
	if err != nil {
		panic(err) // it is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".ipynb"))
	}
	return names
}

// placeholder is the title in a template.
const placeholder = "TITLE"

// New is a notebook from a template, with a title.
func New(template, title string) (*notebook.Notebook, error) {
	if !slices.Contains(Names(), template) {
		return nil, fmt.Errorf("there is no template %q; there are %s", template, strings.Join(Names(), " and "))
	}
	content, err := templates.ReadFile("templates/" + template + ".ipynb")
	if err != nil {
		return nil, err
	}
	nb, err := notebook.Read(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	for _, c := range nb.Cells {
		c.Source = strings.ReplaceAll(c.Source, placeholder, title)
	}
	return nb, nil
}

// Title makes a title of the name of a file: "my-first_run" is "My first run".
func Title(name string) string {
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' }), " ")
	if words == "" {
		return "Untitled"
	}
	first := []rune(words)
	return strings.ToUpper(string(first[:1])) + string(first[1:])
}
