package ir

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forgekernel/forge/tensor"
)

// Attrs are the named static parameters of a node. A value is a bool, int64,
// float64, string, []int64 or *tensor.Tensor. Attributes equal to their
// declared default are left out, so that equal nodes have equal attributes.
type Attrs map[string]any

// AttrKind is the type of an attribute.
type AttrKind uint8

// Attribute kinds.
const (
	BoolAttr   AttrKind = iota // bool
	IntAttr                    // int64
	FloatAttr                  // float64
	StringAttr                 // string
	IntsAttr                   // []int64
	TensorAttr                 // *tensor.Tensor
)

var attrKindNames = [...]string{"bool", "int", "float", "string", "ints", "tensor"}

// String is the kind's name in documentation and messages.
func (k AttrKind) String() string { return attrKindNames[k] }

// AttrDecl declares one attribute of an operator.
type AttrDecl struct {
	Name string
	Kind AttrKind
	Doc  string
	// Default is the value of an absent attribute. When it is nil and Required
	// is not set, absence has a meaning of its own, given in Doc.
	Default  any
	Required bool
	OneOf    []string // the allowed values of a string attribute; nil for any
}

// Clone copies the map. Attribute values are immutable and shared.
func (a Attrs) Clone() Attrs { return maps.Clone(a) }

// Equal compares attributes; floats and tensors bit by bit.
func (a Attrs) Equal(b Attrs) bool { return maps.EqualFunc(a, b, attrEqual) }

func attrEqual(x, y any) bool {
	switch x := x.(type) {
	case []int64:
		y, ok := y.([]int64)
		return ok && slices.Equal(x, y)
	case float64:
		y, ok := y.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	case *tensor.Tensor:
		y, ok := y.(*tensor.Tensor)
		return ok && tensor.Identical(x, y)
	}
	return x == y
}

// Bool reads a bool attribute of a node, or its default when it is absent. It
// returns the zero value for an undeclared name.
func (n *Node) Bool(name string) bool { v, _ := n.Attr(name).(bool); return v }

// Int reads an int attribute; see [Node.Bool].
func (n *Node) Int(name string) int { v, _ := n.Attr(name).(int64); return int(v) }

// Float reads a float attribute; see [Node.Bool].
func (n *Node) Float(name string) float64 { v, _ := n.Attr(name).(float64); return v }

// Ints reads an ints attribute; nil when absent without default.
func (n *Node) Ints(name string) []int64 { v, _ := n.Attr(name).([]int64); return v }

// Str reads a string attribute; see [Node.Bool].
func (n *Node) Str(name string) string { v, _ := n.Attr(name).(string); return v }

// Tensor reads a tensor attribute; see [Node.Bool].
func (n *Node) Tensor(name string) *tensor.Tensor { v, _ := n.Attr(name).(*tensor.Tensor); return v }

// Attr returns an attribute or its declared default.
func (n *Node) Attr(name string) any {
	if v, ok := n.Attrs[name]; ok {
		return v
	}
	if i := n.Op.attrIndex(name); i >= 0 {
		return n.Op.Attrs[i].Default
	}
	return nil
}

func (op *Op) attrIndex(name string) int {
	return slices.IndexFunc(op.Attrs, func(d AttrDecl) bool { return d.Name == name })
}

// checkAttrs compares attributes with the operator's whitelist.
func checkAttrs(op *Op, attrs Attrs) error {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		i := op.attrIndex(name)
		if i < 0 {
			return fmt.Errorf("unknown attribute %q%s", name, knownAttrs(op))
		}
		d := op.Attrs[i]
		if kind, ok := kindOf(attrs[name]); !ok || kind != d.Kind {
			return fmt.Errorf("attribute %s must be of kind %v, not %T", name, d.Kind, attrs[name])
		}
		if s, ok := attrs[name].(string); ok && d.OneOf != nil && !slices.Contains(d.OneOf, s) {
			return fmt.Errorf("attribute %s is %q; it must be one of %q", name, s, d.OneOf)
		}
	}
	for _, d := range op.Attrs {
		if _, ok := attrs[d.Name]; d.Required && !ok {
			return fmt.Errorf("attribute %s is missing", d.Name)
		}
	}
	return nil
}

func knownAttrs(op *Op) string {
	if len(op.Attrs) == 0 {
		return "; it has none"
	}
	s := "; it has"
	for i, d := range op.Attrs {
		if i > 0 {
			s += ","
		}
		s += " " + d.Name
	}
	return s
}

func kindOf(v any) (AttrKind, bool) {
	switch v.(type) {
	case bool:
		return BoolAttr, true
	case int64:
		return IntAttr, true
	case float64:
		return FloatAttr, true
	case string:
		return StringAttr, true
	case []int64:
		return IntsAttr, true
	case *tensor.Tensor:
		return TensorAttr, true
	}
	return 0, false
}

// given is a tensor that nobody changes any more, so that it need not be copied.
type given struct{ *tensor.Tensor }

// normaliseAttrs widens Go's plain integer types to the attribute types, copies
// slices and tensors, and drops values equal to their default.
func normaliseAttrs(op *Op, attrs Attrs) Attrs {
	if len(attrs) == 0 {
		return nil
	}
	out := make(Attrs, len(attrs))
	for name, v := range attrs {
		switch x := v.(type) {
		case int:
			v = int64(x)
		case []int:
			wide := make([]int64, len(x))
			for i, e := range x {
				wide[i] = int64(e)
			}
			v = wide
		case []int64:
			v = append(make([]int64, 0, len(x)), x...)
		case *tensor.Tensor:
			if x != nil {
				v = x.Clone()
			}
		case given:
			v = x.Tensor
		}
		out[name] = v
	}
	return withoutDefaults(op, out)
}

// withoutDefaults drops attributes that equal their default, from a copy where
// there are any.
func withoutDefaults(op *Op, attrs Attrs) Attrs {
	out := attrs
	for _, d := range op.Attrs {
		if v, ok := attrs[d.Name]; ok && d.Default != nil && attrEqual(v, d.Default) {
			if len(out) == len(attrs) {
				out = attrs.Clone()
			}
			delete(out, d.Name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Canonicalise brings the attributes of a node that [Node.Infer] accepts to
// their one form. [Verify] demands it of every node; the builder and the
// parsers see to it, and so must whoever makes nodes in another way.
func (n *Node) Canonicalise() { n.Attrs = n.canonicalAttrs() }

func (n *Node) canonicalAttrs() Attrs {
	attrs := n.Attrs
	if n.Op.Canonical != nil {
		attrs = n.Op.Canonical(n)
	}
	return withoutDefaults(n.Op, attrs)
}
