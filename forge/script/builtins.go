package script

import (
	"slices"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// builtin is one function of the language: how it is called, and the operator
// of package op that it stands for, which has the same name.
type builtin struct {
	name     string
	operands []string // tensors, in order
	options  []string // named arguments: "axis", "keepdims"
	// list names the whole numbers that follow the operands, one by one or as
	// one tuple: the shape of reshape, the axes of transpose.
	list     string
	optional bool   // the list may be left out
	note     string // what the operator's own documentation does not say
}

const reductionNote = "Over all elements, or along one axis with axis=; a negative axis counts from the end. keepdims=True keeps the axis with length 1."

// builtins by name. Each may be called as a function or as a method of its
// first operand.
var builtins = index([]builtin{
	{name: "matmul", operands: []string{"a", "b"}, note: "Also written a @ b. [..., M, K] @ [..., K, N] is [..., M, N]."},
	{name: "neg", operands: []string{"x"}, note: "Also written -x."},
	{name: "relu", operands: []string{"x"}},
	{name: "exp", operands: []string{"x"}},
	{name: "log", operands: []string{"x"}},
	{name: "sqrt", operands: []string{"x"}},
	{name: "abs", operands: []string{"x"}},
	{name: "tanh", operands: []string{"x"}},
	{name: "sigmoid", operands: []string{"x"}},
	{name: "gelu", operands: []string{"x"}},
	{name: "maximum", operands: []string{"a", "b"}, note: "Element by element, with broadcasting."},
	{name: "minimum", operands: []string{"a", "b"}, note: "Element by element, with broadcasting."},
	{name: "sum", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "mean", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "max", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "softmax", operands: []string{"x"}, options: []string{"axis"}, note: "Along the last axis unless axis= names another."},
	{name: "reshape", operands: []string{"x"}, list: "shape", note: "One dimension may be -1, to be computed from the others."},
	{name: "transpose", operands: []string{"x"}, list: "axes", optional: true, note: "Axis i of the result is axis axes[i] of x. Without axes the order is reversed."},
})

func index(list []builtin) map[string]*builtin {
	m := make(map[string]*builtin, len(list))
	for i := range list {
		m[list[i].name] = &list[i]
	}
	return m
}

// builtinNames is sorted.
func builtinNames() []string {
	names := make([]string, 0, len(builtins))
	for name := range builtins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// defaultOf is the value of a named argument that is left out, as signatures
// write it.
func (b *builtin) defaultOf(option string) string {
	switch {
	case option == "keepdims":
		return "False"
	case b.name == "softmax":
		return "-1"
	}
	return "…"
}

// signature is "sum(x, axis=…, keepdims=False)".
func (b *builtin) signature() string {
	parts := slices.Clone(b.operands)
	if b.list != "" {
		parts = append(parts, b.list+"…")
	}
	for _, o := range b.options {
		parts = append(parts, o+"="+b.defaultOf(o))
	}
	return b.name + "(" + strings.Join(parts, ", ") + ")"
}

// doc is the documentation of b: the operator's and the language's part.
func (b *builtin) doc() string {
	o, err := op.Registry.Lookup(b.name)
	if err != nil {
		return b.note
	}
	return strings.TrimSpace(o.Doc + " " + b.note)
}

// attrs are the operator's attributes for the arguments of a call.
func (b *builtin) attrs(args arguments) ir.Attrs {
	attrs := ir.Attrs{}
	switch {
	case args.axis == nil:
	case b.name == "softmax":
		attrs["axis"] = *args.axis
	default:
		attrs["axes"] = []int{*args.axis}
	}
	if args.keepdims {
		attrs["keepdims"] = true
	}
	switch {
	case args.list == nil:
	case b.name == "transpose":
		attrs["perm"] = args.list
	default:
		attrs["shape"] = args.list
	}
	return attrs
}
