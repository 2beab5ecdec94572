package script

import (
	"fmt"
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
	spare    int      // how many of the last operands may be left out
	variadic bool     // the operand stands for any number, one by one or as one list
	options  []string // named arguments: "axis", "keepdims", "eps"
	// list names the whole numbers that follow the operands, one by one or as
	// one tuple: the shape of reshape, the axes of transpose.
	list      string
	spareList bool   // the list may be left out
	note      string // what the operator's own documentation does not say
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
	{name: "rsqrt", operands: []string{"x"}},
	{name: "sin", operands: []string{"x"}},
	{name: "cos", operands: []string{"x"}},
	{name: "pow", operands: []string{"a", "b"}, note: "Element by element, with broadcasting: pow(x, 2) squares."},
	{name: "tanh", operands: []string{"x"}},
	{name: "sigmoid", operands: []string{"x"}},
	{name: "gelu", operands: []string{"x"}},
	{name: "silu", operands: []string{"x"}},
	{name: "erf", operands: []string{"x"}},
	{name: "maximum", operands: []string{"a", "b"}, note: "Element by element, with broadcasting."},
	{name: "minimum", operands: []string{"a", "b"}, note: "Element by element, with broadcasting."},
	{name: "sum", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "mean", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "max", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "min", operands: []string{"x"}, options: []string{"axis", "keepdims"}, note: reductionNote},
	{name: "softmax", operands: []string{"x"}, options: []string{"axis"}, note: "Along the last axis unless axis= names another."},
	{name: "log_softmax", operands: []string{"x"}, options: []string{"axis"}, note: "Along the last axis unless axis= names another."},
	{name: "layer_norm", operands: []string{"x", "weight", "bias"}, spare: 2, options: []string{"axis", "eps"}, note: "Over the last axis unless axis= names an earlier one to start from."},
	{name: "rms_norm", operands: []string{"x", "weight"}, spare: 1, options: []string{"axis", "eps"}, note: "Over the last axis unless axis= names an earlier one to start from."},
	{name: "concat", operands: []string{"x"}, variadic: true, options: []string{"axis"}, note: "Along the first axis unless axis= names another."},
	{name: "reshape", operands: []string{"x"}, list: "shape", note: "One dimension may be -1, to be computed from the others."},
	{name: "transpose", operands: []string{"x"}, list: "axes", spareList: true, note: "Axis i of the result is axis axes[i] of x. Without axes the order is reversed."},
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
// write it: the operator's own default, or all axes of a reduction.
func (b *builtin) defaultOf(option string) string {
	switch {
	case option == "keepdims":
		return "False"
	case b.name == "concat":
		return "0"
	}
	if d := b.attribute(option); d != nil {
		return fmt.Sprint(d.Default)
	}
	return "…"
}

// attribute is the declaration of an attribute of the operator, or nil.
func (b *builtin) attribute(name string) *ir.AttrDecl {
	o, err := op.Registry.Lookup(b.name)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(o.Attrs, func(d ir.AttrDecl) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Attrs[i]
}

// signature is "sum(x, axis=…, keepdims=False)".
func (b *builtin) signature() string {
	parts := slices.Clone(b.operands)
	for i := range b.spare {
		at := len(parts) - 1 - i
		parts[at] = "[" + parts[at] + "]"
	}
	if b.variadic {
		parts = []string{"a", "b", "…"}
	}
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
	case args.axis == nil && b.name == "concat":
		attrs["axis"] = 0
	case args.axis == nil:
	case b.attribute("axis") != nil:
		attrs["axis"] = *args.axis
	default:
		attrs["axes"] = []int{*args.axis}
	}
	if args.keepdims {
		attrs["keepdims"] = true
	}
	if args.eps != nil {
		attrs["eps"] = *args.eps
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
