package script

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
)

// problem is what is wrong with a call.
type problem struct {
	span          Span
	message, hint string
}

// arguments are those of a builtin, sorted out.
type arguments struct {
	operands []Expr
	axis     *int // nil when not given
	keepdims bool
	eps      *float64 // nil when not given
	list     []int    // nil when not given
}

// arguments sorts the arguments of a call of b.
func (b *builtin) arguments(call *Call) (args arguments, _ *problem) {
	if b.variadic {
		return b.manyOperands(call)
	}
	n := min(len(call.Args), len(b.operands))
	if b.spare > 0 {
		n = tensors(call.Args[:n])
	}
	rest := call.Args[n:]
	args.operands = call.Args[:n]
	if n < len(b.operands)-b.spare {
		return args, &problem{call.Fun.Span, fmt.Sprintf("%s takes %s, got %d", b.name, b.count(), n), "write " + b.example()}
	}
	if b.list != "" {
		list, p := b.integers(call, rest)
		if p != nil {
			return args, p
		}
		args.list, rest = list, nil
	}
	if len(rest) > 0 {
		return args, b.surplus(call, rest[0])
	}
	return args, b.named(call, &args)
}

// manyOperands sorts the arguments of a call with any number of operands.
func (b *builtin) manyOperands(call *Call) (args arguments, _ *problem) {
	args.operands = call.Args
	if len(args.operands) == 1 {
		if t, ok := args.operands[0].(*Tuple); ok {
			args.operands = t.Elems
		}
	}
	if n := tensors(args.operands); n < len(args.operands) {
		extra := args.operands[n]
		args.operands = args.operands[:n]
		return args, &problem{extra.span(), fmt.Sprintf("%s takes tensors", b.name), "write " + b.example()}
	}
	if len(args.operands) == 0 {
		return args, &problem{call.Fun.Span, fmt.Sprintf("%s takes 1 tensor or more, got 0", b.name), "write " + b.example()}
	}
	return args, b.named(call, &args)
}

// tensors counts the arguments before the first that cannot be a tensor.
func tensors(list []Expr) int {
	for i, x := range list {
		switch x.(type) {
		case *Tuple, *Const:
			return i
		}
	}
	return len(list)
}

// count is how many tensors b takes: "2 tensors", "1 to 3 tensors".
func (b *builtin) count() string {
	most := display.Count(len(b.operands), "tensor")
	if b.spare > 0 {
		return fmt.Sprintf("%d to %s", len(b.operands)-b.spare, most)
	}
	return most
}

// surplus says what to write for one positional argument too many.
func (b *builtin) surplus(call *Call, extra Expr) *problem {
	message := fmt.Sprintf("%s takes %s", b.name, b.count())
	_, isTuple := extra.(*Tuple)
	axis, isWhole := whole(extra)
	switch {
	case isWhole && slices.Contains(b.options, "axis"):
		return &problem{extra.span(), message, fmt.Sprintf("write axis=%d", axis)}
	case isTuple && slices.Contains(b.options, "axis"):
		return &problem{extra.span(), message, "reduce one axis at a time: axis=-1"}
	case b.name == "max":
		return &problem{extra.span(), message, "write maximum(a, b) for the larger of two tensors"}
	case b.name == "min":
		return &problem{extra.span(), message, "write minimum(a, b) for the smaller of two tensors"}
	}
	return &problem{extra.span(), message, "write " + b.example()}
}

// named reads the named arguments into args.
func (b *builtin) named(call *Call, args *arguments) *problem {
	seen := make(map[string]bool)
	for _, a := range call.Named {
		name := a.Name.Name
		if !slices.Contains(b.options, name) {
			return &problem{a.Name.Span, fmt.Sprintf("%s has no argument %s", b.name, name), b.optionHint(name)}
		}
		if seen[name] {
			return &problem{a.Name.Span, fmt.Sprintf("%s is given twice", name), "remove one of them"}
		}
		seen[name] = true
		if name == "keepdims" {
			c, ok := a.Value.(*Const)
			if !ok {
				return &problem{a.Value.span(), "keepdims is True or False", "write keepdims=True to keep the axis with length 1"}
			}
			args.keepdims = c.Value
			continue
		}
		if name == "eps" {
			n, ok := a.Value.(*Number)
			if !ok {
				return &problem{a.Value.span(), "eps is a number and not negative", "write eps=1e-5"}
			}
			args.eps = &n.Value
			continue
		}
		axis, ok := whole(a.Value)
		if !ok {
			return &problem{a.Value.span(), "axis is one whole number", "write axis=0 for the first axis, axis=-1 for the last"}
		}
		args.axis = &axis
	}
	return nil
}

// optionHint says which named arguments there are.
func (b *builtin) optionHint(name string) string {
	alias := map[string]string{"dim": "axis", "axes": "axis", "epsilon": "eps", "keepdim": "keepdims", "keep_dims": "keepdims"}[name]
	switch {
	case slices.Contains(b.operands, name):
		return fmt.Sprintf("write %s: tensors have no names", b.example())
	case alias != "" && slices.Contains(b.options, alias):
		return fmt.Sprintf("write %s=", alias)
	case len(b.options) > 0:
		return "it has " + strings.Join(b.options, "= and ") + "="
	}
	return "write " + b.example()
}

// integers reads the whole numbers of reshape and transpose: one by one or as
// one tuple.
func (b *builtin) integers(call *Call, rest []Expr) ([]int, *problem) {
	if len(call.Named) > 0 {
		return nil, &problem{call.Named[0].Name.Span, fmt.Sprintf("%s has no argument %s", b.name, call.Named[0].Name.Name), "write " + b.example()}
	}
	if len(rest) == 1 {
		if t, ok := rest[0].(*Tuple); ok {
			rest = t.Elems
		}
	}
	if len(rest) == 0 {
		if b.spareList {
			return nil, nil
		}
		return nil, &problem{call.Fun.Span, fmt.Sprintf("%s needs a %s", b.name, b.list), "write " + b.example()}
	}
	if len(rest) > maxRank {
		return nil, &problem{rest[maxRank].span(), fmt.Sprintf("%s gives %d dimensions", b.name, len(rest)), fmt.Sprintf("a tensor has at most %d", maxRank)}
	}
	list := make([]int, len(rest))
	for i, x := range rest {
		n, ok := whole(x)
		if !ok {
			return nil, &problem{x.span(), fmt.Sprintf("the %s of %s is whole numbers", b.list, b.name), "shapes are static: write " + b.example()}
		}
		list[i] = n
	}
	return list, nil
}

// whole returns the value of an integer literal with its sign.
func whole(x Expr) (int, bool) {
	switch x := x.(type) {
	case *Number:
		return int(x.Value), x.Whole && x.Value <= MaxElements
	case *Neg:
		if n, ok := x.X.(*Number); ok {
			v, ok := whole(n)
			return -v, ok
		}
	}
	return 0, false
}

// example is a call of b as a person would write it.
func (b *builtin) example() string {
	switch b.name {
	case "reshape":
		return "reshape(x, 8, 16)"
	case "transpose":
		return "transpose(x) or transpose(x, 1, 0)"
	}
	parts := slices.Clone(b.operands)
	if b.variadic {
		parts = []string{"a", "b"}
	}
	if slices.Contains(b.options, "axis") {
		parts = append(parts, "axis=-1")
	}
	return b.name + "(" + strings.Join(parts, ", ") + ")"
}

// problem reports what is wrong with a call of f whose results go to as many
// places as want says, or nil.
func (f *Func) problem(call *Call, want int) *problem {
	if len(call.Named) > 0 {
		return &problem{call.Named[0].Name.Span, fmt.Sprintf("%s takes its tensors by position", f.Name.Name), "write " + f.Signature() + " without names"}
	}
	for _, a := range call.Args {
		switch a.(type) {
		case *Tuple, *Const:
			return &problem{a.span(), fmt.Sprintf("%s takes tensors", f.Name.Name), "pass a tensor or a number"}
		}
	}
	if have, want := len(call.Args), len(f.Params); have != want {
		return &problem{call.Fun.Span, fmt.Sprintf("%s takes %s, got %d", f.Name.Name, display.Count(want, "tensor"), have), "its definition is " + f.Signature()}
	}
	return f.arityProblem(call, want)
}

// arityProblem reports a call whose number of results does not fit.
func (f *Func) arityProblem(call *Call, want int) *problem {
	have := len(f.Return)
	switch {
	case have == want:
		return nil
	case want == 1:
		return &problem{call.Fun.Span, fmt.Sprintf("%s returns %s where one is needed", f.Name.Name, display.Count(have, "tensor")), "unpack them on a line of their own: " + f.unpacking()}
	case have == 1:
		return &problem{call.Fun.Span, fmt.Sprintf("%s returns 1 tensor, and %d names are assigned", f.Name.Name, want), "assign it to one name"}
	}
	return &problem{call.Fun.Span, fmt.Sprintf("%s returns %s, and %d names are assigned", f.Name.Name, display.Count(have, "tensor"), want), "write as many names as results: " + f.unpacking()}
}

// unpacking is a line that takes the results of f apart: "a, b = f(…)".
func (f *Func) unpacking() string {
	names := make([]string, len(f.Return))
	for i := range names {
		names[i] = string(rune('a' + i%26))
	}
	return strings.Join(names, ", ") + " = " + f.Name.Name + "(…)"
}

// listOf writes "a, b and c".
func listOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
