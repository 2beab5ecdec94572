package forge

import (
	"slices"
	"strings"
	"sync"

	"forgekernel/forge/script"
)

// Library holds ForgeScript functions by name, as a notebook defines them cell
// by cell. Its functions can call one another; a call reaches the definition
// that is current when it is made. A Library is safe for concurrent use.
type Library struct {
	mu    sync.RWMutex
	order []string
	fns   map[string]entry
}

type entry struct {
	fn  Function
	src *script.Func
}

// NewLibrary returns an empty library.
func NewLibrary() *Library { return &Library{fns: make(map[string]entry)} }

// Define parses source and adds its functions, replacing those of the same
// names. On an error, an [Errors], the library is unchanged.
func (l *Library) Define(source string, opts ...Option) ([]Function, error) {
	fns, err := Define(source, append(slices.Clone(opts), Within(l))...)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range fns {
		src := f.state().src
		if _, known := l.fns[src.Name.Name]; !known {
			l.order = append(l.order, src.Name.Name)
		}
		l.fns[src.Name.Name] = entry{f, src}
	}
	return fns, nil
}

// Function returns the function of that name, or nil.
func (l *Library) Function(name string) Function {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.fns[name].fn
}

// Lookup implements [script.Scope].
func (l *Library) Lookup(name string) *script.Func {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.fns[name].src
}

// Names lists the functions in order of their first definition.
func (l *Library) Names() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.order)
}

// Remove forgets a function.
func (l *Library) Remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fns, name)
	l.order = slices.DeleteFunc(l.order, func(n string) bool { return n == name })
}

// Source is the text of every function; [Library.Define] of it rebuilds the
// library.
func (l *Library) Source() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var b strings.Builder
	for _, name := range l.order {
		b.WriteString(l.fns[name].src.Source() + "\n\n")
	}
	return b.String()
}
