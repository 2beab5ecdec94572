package cell

import (
	"fmt"
	"path/filepath"
	"strings"

	"forgekernel/forge"
	"forgekernel/forge/importer"
)

// loadModel makes a model file a Go value, called as the file unless the magic says
// otherwise, and shows what it holds.
func (t *task) loadModel(c call, path string) Outcome {
	name := importer.Identifiers{}.New(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if len(c.rest) > 1 {
		name = c.rest[1]
	}
	if why := meaningInGo(name); why != "" {
		return Outcome{Err: t.usage(c.directive, "%load "+c.rest[0]+" NAME gives it another", "a model cannot be called %s: it %s", name, why)}
	}
	m, err := forge.Open(path)
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	t.in.mu.Lock()
	err = t.in.golang.Define(name, m, fmt.Sprintf("The model in %s.", path))
	t.in.mu.Unlock()
	if err != nil {
		m.Close()
		return Outcome{Err: t.usage(c.directive, "", "%s cannot become a Go value: %v", name, err)}
	}
	fmt.Fprintf(t.stdout(), "%s := forge.Load(%q)\n", name, path)
	return shown(m)
}
