// Package symbolic evaluates the expressions in which an exported program writes
// its sizes: symbols for what is open, and numbers made of them.
//
// [Parse] reads both forms that occur in files, SymPy's constructor calls and
// Python's operators:
//
//	Add(Symbol('s27', positive=True, integer=True), Mul(Integer(-1), Integer(2)))
//	s27 - 2
//
// Numbers are exact rationals of bounded size. What does not give a number, as a
// division by zero, is an error.
package symbolic

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Expr is an expression. It is never changed.
type Expr struct {
	name string   // of a function or, without a number and operands, of a symbol
	num  *big.Rat // of a number
	args []*Expr
	call bool
}

// Symbol is the name of an expression that is nothing but a symbol.
func (e *Expr) Symbol() (name string, ok bool) { return e.name, !e.call && e.num == nil }

// Symbols are the names of all symbols, sorted.
func (e *Expr) Symbols() []string {
	set := make(map[string]bool)
	e.collect(set)
	return slices.Sorted(maps.Keys(set))
}

func (e *Expr) collect(set map[string]bool) {
	if name, ok := e.Symbol(); ok {
		set[name] = true
	}
	for _, a := range e.args {
		a.collect(set)
	}
}

// Unbound is the error of evaluating an expression with a symbol that has no value.
type Unbound struct{ Symbol string }

func (u *Unbound) Error() string { return fmt.Sprintf("the symbol %s has no value", u.Symbol) }

// Int evaluates an expression that gives an integer.
func (e *Expr) Int(values map[string]int64) (int64, error) {
	v, err := e.eval(values)
	if err != nil {
		return 0, err
	}
	if !v.IsInt() || !v.Num().IsInt64() {
		return 0, fmt.Errorf("%v is %s, which is no integer of 64 bits", e, v.RatString())
	}
	return v.Num().Int64(), nil
}

func (e *Expr) eval(values map[string]int64) (*big.Rat, error) {
	if e.num != nil {
		return e.num, nil
	}
	if name, ok := e.Symbol(); ok {
		v, bound := values[name]
		if !bound {
			return nil, &Unbound{name}
		}
		return new(big.Rat).SetInt64(v), nil
	}
	args := make([]*big.Rat, len(e.args))
	for i, a := range e.args {
		var err error
		if args[i], err = a.eval(values); err != nil {
			return nil, err
		}
	}
	v, err := Apply(e.name, args...)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", e, err)
	}
	return v, nil
}

// operators are the infix forms, by function.
var operators = map[string]string{"Add": " + ", "Sub": " - ", "Mul": "*", "FloorDiv": "//", "Mod": "%", "IntTrueDiv": "/", "Pow": "**"}

// String writes an expression with operators.
func (e *Expr) String() string {
	switch {
	case e.num != nil:
		return e.num.RatString()
	case !e.call:
		return e.name
	}
	args := make([]string, len(e.args))
	infix, ok := operators[e.name]
	for i, a := range e.args {
		args[i] = a.String()
		inner := a.call && operators[a.name] != "" && (e.name != "Add" || a.name == "Add")
		if ok && (inner || a.num != nil && (a.num.Sign() < 0 || !a.num.IsInt())) {
			args[i] = "(" + args[i] + ")"
		}
	}
	if ok && len(args) > 1 {
		return strings.Join(args, infix)
	}
	return e.name + "(" + strings.Join(args, ", ") + ")"
}
