// Package table is the form in which the exported names of a package are
// linked into the binary: plain slices that need no code at start-up, turned
// into reflect values when a cell first imports the package.
package table

import (
	"fmt"
	"go/constant"
	"go/token"
	"reflect"
	"sync"
)

// Set is all tables of one generated Go package, with the stamp of the
// generation that made them.
type Set struct {
	Stamp    string
	Packages []Package
}

// Package is the table of one import path.
type Package struct {
	Path, Name string
	Symbols    []Symbol
}

// Symbol is one exported name and a value to reach it by.
type Symbol struct {
	Name string
	Kind Kind
	// Value is the function, the typed constant, the decimal literal of an
	// untyped number, the text of an untyped string, a pointer to the variable, or a nil pointer to the type.
	Value any
}

// Kind tells what a symbol's Value stands for.
type Kind uint8

// Kinds of symbol.
const (
	Func Kind = iota
	Const
	Int    // untyped integer or rune constant
	Float  // untyped floating-point constant
	String // untyped string constant
	Var
	Type
	Wrapper // struct of functions that implements the interface named like it
)

// Reflect gives the symbol as yaegi expects it: a function or typed constant as
// itself, an untyped constant as a constant.Value, a variable as an
// addressable value and a type as a nil pointer to it.
func (s Symbol) Reflect() reflect.Value {
	switch s.Kind {
	case Int:
		return reflect.ValueOf(constant.MakeFromLiteral(s.Value.(string), token.INT, 0))
	case Float:
		return reflect.ValueOf(constant.MakeFromLiteral(s.Value.(string), token.FLOAT, 0))
	case String:
		return reflect.ValueOf(constant.MakeString(s.Value.(string)))
	case Var:
		return reflect.ValueOf(s.Value).Elem()
	default:
		return reflect.ValueOf(s.Value)
	}
}

// Key is the name under which yaegi looks for the symbol.
func (s Symbol) Key() string {
	if s.Kind == Wrapper {
		return "_" + s.Name
	}
	return s.Name
}

// Reflect gives all symbols of the package by Key.
func (p *Package) Reflect() map[string]reflect.Value {
	m := make(map[string]reflect.Value, len(p.Symbols))
	for _, s := range p.Symbols {
		m[s.Key()] = s.Reflect()
	}
	return m
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

// Registered returns all sets by name.
func Registered() map[string]*Set {
	registry.Lock()
	defer registry.Unlock()
	m := make(map[string]*Set, len(registry.sets))
	for k, v := range registry.sets {
		m[k] = v
	}
	return m
}
