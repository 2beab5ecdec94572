package pt2

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"forgekernel/forge/importer"
	"forgekernel/forge/pt2/symbolic"
)

// resolve settles the shapes of the inputs and the symbols. An open dimension may be
// an expression of symbols, as "2*s0": symbols that are given by name settle it, or a
// shape does.
func (m *Model) resolve(b importer.Binding) (shapes [][]int, symbols map[string]int64, err error) {
	symbols = make(map[string]int64)
	all := importer.Binding{Shapes: b.Shapes, Values: b.Values, Dims: maps.Clone(b.Dims)}
	if all.Dims == nil {
		all.Dims = make(map[string]int)
	}
	for name, size := range b.Dims {
		symbols[name] = int64(size)
	}
	m.bindGiven(b, symbols)
	if err := m.bindDerived(all.Dims, symbols); err != nil {
		return nil, nil, err
	}
	if shapes, err = all.Resolve(m.Inputs()); err != nil {
		return nil, nil, err
	}
	for i, in := range m.inputs {
		for d, e := range in.sizes {
			if e == nil {
				continue
			}
			if name, plain := e.Symbol(); plain {
				symbols[name] = int64(shapes[i][d])
			}
		}
	}
	return shapes, symbols, m.checkSizes(shapes, symbols)
}

// bindGiven takes the symbols from given shapes: first those that are dimensions of
// their own, then those that occur in expressions only.
func (m *Model) bindGiven(b importer.Binding, symbols map[string]int64) {
	for _, plainOnly := range []bool{true, false} {
		for _, in := range m.inputs {
			given, ok := b.Shapes[in.Name]
			if t := b.Values[in.Name]; t != nil && !ok {
				given, ok = t.Shape(), true
			}
			if !ok || len(given) != len(in.Dims) {
				continue
			}
			for i, e := range in.sizes {
				if e == nil {
					continue
				}
				if _, plain := e.Symbol(); plain || !plainOnly {
					solve(e, int64(given[i]), symbols)
				}
			}
		}
	}
}

// solve gives the one symbol of e that has no value the one that makes e equal n, if e
// is linear in it. That it does so is checked with everything else.
func solve(e *symbolic.Expr, n int64, symbols map[string]int64) {
	var open string
	for _, name := range e.Symbols() {
		if _, known := symbols[name]; known {
			continue
		}
		if open != "" {
			return
		}
		open = name
	}
	if open == "" {
		return
	}
	trial := maps.Clone(symbols)
	trial[open] = 0
	at0, err0 := e.Int(trial)
	trial[open] = 1
	at1, err1 := e.Int(trial)
	if err0 != nil || err1 != nil || at1 == at0 || (n-at0)%(at1-at0) != 0 {
		return
	}
	symbols[open] = (n - at0) / (at1 - at0)
}

// bindDerived computes the dimensions that are expressions. Symbols that occur only in
// these are no dimensions, so that they are taken out.
func (m *Model) bindDerived(dims map[string]int, symbols map[string]int64) error {
	var plain, inner []string
	for _, in := range m.inputs {
		for _, e := range in.sizes {
			if e == nil {
				continue
			}
			if name, ok := e.Symbol(); ok {
				plain = append(plain, name)
				continue
			}
			inner = append(inner, e.Symbols()...)
			n, err := e.Int(symbols)
			if unbound := new(symbolic.Unbound); errors.As(err, &unbound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("input %v: %w", in.Input, err)
			}
			if n < 0 || n > 1<<31 {
				return fmt.Errorf("input %v: %v is %d", in.Input, e, n)
			}
			if _, given := dims[e.String()]; !given {
				dims[e.String()] = int(n)
			}
		}
	}
	for _, name := range inner {
		if !slices.Contains(plain, name) {
			delete(dims, name)
		}
	}
	return nil
}

// checkSizes holds the shapes against the expressions, and the symbols against their
// ranges.
func (m *Model) checkSizes(shapes [][]int, symbols map[string]int64) error {
	for i, in := range m.inputs {
		for d, e := range in.sizes {
			if e == nil {
				continue
			}
			n, err := e.Int(symbols)
			if unbound := new(symbolic.Unbound); errors.As(err, &unbound) {
				return fmt.Errorf("input %v: dimension %d depends on %s: give its value", in.Input, d, unbound.Symbol)
			}
			if err != nil {
				return fmt.Errorf("input %v: %w", in.Input, err)
			}
			if n != int64(shapes[i][d]) {
				return fmt.Errorf("input %v: dimension %d must be %v = %d; the shape given has %d", in.Input, d, e, n, shapes[i][d])
			}
		}
	}
	return m.checkRanges(symbols)
}

// assumedMin is the least size that the exporter assumes of every open one, though
// smaller ones work, as PyTorch's own checks allow.
const assumedMin = 2

// checkRanges holds what has a value against its range, which may be that of an
// expression.
func (m *Model) checkRanges(symbols map[string]int64) error {
	ranges := m.archive.Program.Ranges
	for _, text := range slices.Sorted(maps.Keys(ranges)) {
		v, err := m.exprs[text].Int(symbols)
		if unbound := new(symbolic.Unbound); errors.As(err, &unbound) {
			continue
		}
		if err != nil {
			return err
		}
		r := ranges[text]
		if r.Min != nil && *r.Min > assumedMin && v < *r.Min {
			return fmt.Errorf("%s is %d; the program was exported for at least %d", text, v, *r.Min)
		}
		if r.Max != nil && v > *r.Max {
			return fmt.Errorf("%s is %d; the program was exported for at most %d", text, v, *r.Max)
		}
	}
	return nil
}
