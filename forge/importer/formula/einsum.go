package formula

import (
	"regexp"
	"slices"
	"strings"

	"forgekernel/forge/ir"
)

// MaxTerms is the largest number of operands of an einsum.
const MaxTerms = 64

// plainTerm is what a term of an einsum looks like.
var plainTerm = regexp.MustCompile(`^[A-Za-z]*(\.\.\.)?[A-Za-z]*$`)

// Einsum multiplies operands with named dimensions and sums over those that the
// result does not name.
func (f Builder) Einsum(equation string, operands ...*ir.Value) *ir.Value {
	equation = strings.ReplaceAll(equation, " ", "")
	left, right, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	for _, t := range append(slices.Clone(terms), right) {
		if !plainTerm.MatchString(t) {
			f.Fail("equation %q: %q is no term of letters and at most one ellipsis", equation, t)
		}
	}
	if len(terms) != len(operands) || len(terms) > MaxTerms {
		f.Fail("equation %q has %d terms for %d operands; at most %d are supported", equation, len(terms), len(operands), MaxTerms)
	}
	e := &contraction{Builder: f, lengths: make(map[rune]int)}
	for i, t := range terms {
		e.add(t, operands[i])
	}
	if !explicit {
		right = e.implicit(left)
	}
	return e.finish(e.expandDots(right))
}

// contraction is an einsum in the making. Letters name dimensions; those of an
// ellipsis are named by private runes, counted from the last.
type contraction struct {
	Builder
	terms   []term
	lengths map[rune]int
	dots    int // dimensions of the longest ellipsis
}

type term struct {
	names []rune
	value *ir.Value
}

const firstDot = rune(0xE000)

// add reads a term and takes diagonals of repeated names.
func (e *contraction) add(text string, v *ir.Value) {
	letters := strings.Replace(text, "...", "", 1)
	dots := v.Spec.Rank() - len(letters)
	if dots < 0 || dots > 0 && letters == text {
		e.Fail("term %q does not fit %v", text, v.Spec)
	}
	e.dots = max(e.dots, dots)
	names := expandDots(text, dots)
	for i, n := range names {
		d := v.Spec.Shape[i]
		if was, ok := e.lengths[n]; ok && was != d && was != 1 && d != 1 {
			e.Fail("dimension %q is %d and %d long", string(n), was, d)
		}
		e.lengths[n] = max(e.lengths[n], d)
	}
	for i := 0; i < len(names); i++ {
		if first := slices.Index(names, names[i]); first < i {
			v, names = e.diagonal(v, names, first, i)
			i--
		}
	}
	e.terms = append(e.terms, term{names, v})
}

func expandDots(text string, dots int) []rune {
	var ellipsis strings.Builder
	for i := range dots {
		ellipsis.WriteRune(firstDot + rune(dots-1-i))
	}
	return []rune(strings.Replace(text, "...", ellipsis.String(), 1))
}

func (e *contraction) expandDots(text string) []rune { return expandDots(text, e.dots) }

// diagonal picks elements whose coordinates in dimensions a < b are equal, and
// leaves b out: with these last and merged they are n+1 apart.
func (e *contraction) diagonal(v *ir.Value, names []rune, a, b int) (*ir.Value, []rune) {
	rank, n := v.Spec.Rank(), v.Spec.Shape[a]
	var perm []int
	for i := range rank {
		if i != a && i != b {
			perm = append(perm, i)
		}
	}
	kept := make([]rune, 0, rank-1)
	for _, i := range perm {
		kept = append(kept, names[i])
	}
	v = e.Transpose(v, append(perm, a, b)...)
	outer := slices.Clone(v.Spec.Shape[:rank-2])
	v = e.Reshape(v, append(outer, n*n)...)
	v = e.Op("narrow", ir.Attrs{"axis": rank - 2, "start": 0, "length": n, "step": n + 1}, v)
	return v, append(kept, names[a])
}

// implicit is the result of an equation without an arrow: the dots and, in
// alphabetical order, the names that occur once.
func (e *contraction) implicit(left string) string {
	var once []rune
	for _, r := range left {
		if r != '.' && r != ',' && strings.Count(left, string(r)) == 1 {
			once = append(once, r)
		}
	}
	slices.Sort(once)
	if strings.Contains(left, "...") {
		return "..." + string(once)
	}
	return string(once)
}

// finish multiplies from the left, summing a name over as soon as no later term and
// not the result has it.
func (e *contraction) finish(result []rune) *ir.Value {
	for _, r := range result {
		if _, ok := e.lengths[r]; !ok {
			e.Fail("the result names %q, which no term has", string(r))
		}
	}
	t := e.terms[0]
	for i, next := range e.terms[1:] {
		keep := slices.Clone(result)
		for _, later := range e.terms[i+2:] {
			keep = append(keep, later.names...)
		}
		t = e.multiply(t, next, keep)
	}
	t = e.sumOut(t, result)
	return e.arrange(t, result)
}

// sumOut sums over the names that are not to be kept.
func (e *contraction) sumOut(t term, keep []rune) term {
	var axes []int64
	var names []rune
	for i, n := range t.names {
		if slices.Contains(keep, n) {
			names = append(names, n)
		} else {
			axes = append(axes, int64(i))
		}
	}
	if len(axes) == 0 {
		return t
	}
	return term{names, e.Op("sum", ir.Attrs{"axes": axes}, t.value)}
}

// multiply is a batched matrix product: batch names are in both and kept, summed
// ones in both and not kept, the others are rows and columns.
func (e *contraction) multiply(a, b term, keep []rune) term {
	a, b = e.sumOut(a, append(slices.Clone(keep), b.names...)), e.sumOut(b, append(slices.Clone(keep), a.names...))
	var batch, summed, rows, columns []rune
	for _, n := range a.names {
		switch shared := slices.Contains(b.names, n); {
		case shared && slices.Contains(keep, n):
			batch = append(batch, n)
		case shared:
			summed = append(summed, n)
		default:
			rows = append(rows, n)
		}
	}
	for _, n := range b.names {
		if !slices.Contains(a.names, n) {
			columns = append(columns, n)
		}
	}
	left := e.arrange(a, slices.Concat(batch, rows, summed))
	right := e.arrange(b, slices.Concat(batch, summed, columns))
	shape := e.shapeOf(batch)
	m, k, n := Product(e.shapeOf(rows)), Product(e.shapeOf(summed)), Product(e.shapeOf(columns))
	v := e.Op("matmul", nil, e.Reshape(left, append(slices.Clone(shape), m, k)...), e.Reshape(right, append(slices.Clone(shape), k, n)...))
	names := slices.Concat(batch, rows, columns)
	return term{names, e.Reshape(v, e.shapeOf(names)...)}
}

func (e *contraction) shapeOf(names []rune) []int {
	shape := make([]int, len(names))
	for i, n := range names {
		shape[i] = e.lengths[n]
	}
	return shape
}

// arrange brings the dimensions of a term into the order of names, stretched to
// their full lengths.
func (e *contraction) arrange(t term, names []rune) *ir.Value {
	perm := make([]int, len(names))
	for i, n := range names {
		perm[i] = slices.Index(t.names, n)
	}
	v := e.Transpose(t.value, perm...)
	if shape := e.shapeOf(names); !slices.Equal(shape, v.Spec.Shape) {
		v = e.Op("expand", ir.Attrs{"shape": Int64s(shape)}, v)
	}
	return v
}
