// Package table is the form in which the exported names of packages are linked
// into the binary: sorted slices of static data, which cost nothing until a cell
// asks for a name.
package table

import (
	"fmt"
	"reflect"
	"sort"
	"sync"
)

// Set is all tables of one generated Go package, with the stamp of the
// generation that made them.
type Set struct {
	Stamp    string
	Packages []Package
}

// Package is the table of one import path, sorted by name.
type Package struct {
	Path    string
	Symbols []Symbol
}

// Symbol is one exported name. Value is the function, a pointer to the
// variable, or a nil pointer to the type. Constants are known from export data.
// Generic names have no value that could be linked, but functions that have few
// instances are there as these: From[float32].
type Symbol struct {
	Name  string
	Value any
}

// Lookup finds a name.
func (p *Package) Lookup(name string) (reflect.Value, bool) {
	i := sort.Search(len(p.Symbols), func(i int) bool { return p.Symbols[i].Name >= name })
	if i == len(p.Symbols) || p.Symbols[i].Name != name {
		return reflect.Value{}, false
	}
	return reflect.ValueOf(p.Symbols[i].Value), true
}

var registry struct {
	sync.Mutex
	sets map[string]*Set
}

// Register adds a generated set under the name of its Go package. It is called
// from init functions; a second set of one name is a fault of the build.
func Register(name string, s *Set) {
	registry.Lock()
	defer registry.Unlock()
	if registry.sets == nil {
		registry.sets = map[string]*Set{}
	}
	if registry.sets[name] != nil {
		panic(fmt.Sprintf("table: set %s is registered twice", name))
	}
	registry.sets[name] = s
}

// Registered returns the set of a Go package, or nil.
func Registered(name string) *Set {
	registry.Lock()
	defer registry.Unlock()
	return registry.sets[name]
}
