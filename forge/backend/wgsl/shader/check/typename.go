package check

import (
	"slices"
	"strings"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// Limits of a module.
const (
	maxConstantWords = 1 << 22 // in all of its constants
	maxNesting       = 15      // of structures and arrays
	maxStructMembers = 16383
	maxVariableBytes = 1 << 16 // of a function or private variable
)

// named types take no template list.
var named = map[string]*Type{"bool": boolType, "i32": i32, "u32": u32, "f32": f32, "f16": f16}

var suffixes = map[byte]*Type{'i': i32, 'u': u32, 'f': f32, 'h': f16}

// typeOf resolves an expression that has to name a type.
func (c *checker) typeOf(e syntax.Expr) *Type {
	n, ok := e.(*syntax.Name)
	if !ok {
		fail(e.At(), "expected a type")
	}
	t := c.typeName(n)
	if t == nil {
		if c.lookup(n.Text, n.Pos) != nil || builtinNames(n.Text) {
			fail(n.Pos, "cannot use '%s' as a type", n.Text)
		}
		if generators(n.Text) {
			fail(n.Pos, "expected '<' for '%s'", n.Text)
		}
		fail(n.Pos, "unresolved type '%s'", n.Text)
	}
	return t
}

// generators make a type from a template list.
func generators(name string) bool {
	if _, _, ok := matrixShape(name); ok {
		return true
	}
	return slices.Contains([]string{"vec2", "vec3", "vec4", "array", "atomic", "ptr"}, name)
}

func matrixShape(name string) (columns, rows int, ok bool) {
	if len(name) == 6 && strings.HasPrefix(name, "mat") && name[4] == 'x' &&
		name[3] >= '2' && name[3] <= '4' && name[5] >= '2' && name[5] <= '4' {
		return int(name[3] - '0'), int(name[5] - '0'), true
	}
	return 0, 0, false
}

// typeName resolves a name to a type, or nil where it is none or needs a
// template list that is not there.
func (c *checker) typeName(n *syntax.Name) *Type {
	switch o := c.lookup(n.Text, n.Pos).(type) {
	case *Type:
		c.noTemplate(n)
		return o
	case nil:
	default:
		return nil
	}
	if t := named[n.Text]; t != nil {
		c.noTemplate(n)
		return c.allowed(t, n.Pos)
	}
	if t := c.shortName(n); t != nil {
		c.noTemplate(n)
		return t
	}
	if generators(n.Text) && n.Templated {
		return c.generated(n)
	}
	if strings.HasPrefix(n.Text, "texture_") || strings.HasPrefix(n.Text, "sampler") {
		fail(n.Pos, "type '%s' is not supported: this evaluator runs compute shaders over buffers", n.Text)
	}
	return nil
}

func (c *checker) noTemplate(n *syntax.Name) {
	if n.Templated {
		fail(n.Pos, "type '%s' does not take template arguments", n.Text)
	}
}

func (c *checker) allowed(t *Type, at syntax.Pos) *Type {
	if t == f16 && !c.f16 {
		fail(at, "'f16' type used without 'f16' extension enabled")
	}
	return t
}

// shortName resolves names such as vec4f and mat2x3h.
func (c *checker) shortName(n *syntax.Name) *Type {
	last := len(n.Text) - 1
	if last < 4 {
		return nil
	}
	elem := suffixes[n.Text[last]]
	head := n.Text[:last]
	if elem == nil {
		return nil
	}
	if columns, rows, ok := matrixShape(head); ok && elem.isFloat() {
		return c.types.mat(c.allowed(elem, n.Pos), columns, rows)
	}
	if head == "vec2" || head == "vec3" || head == "vec4" {
		return c.types.vec(c.allowed(elem, n.Pos), int(head[3]-'0'))
	}
	return nil
}

func (c *checker) generated(n *syntax.Name) *Type {
	most := map[string]int{"array": 2, "ptr": 3}[n.Text]
	if len(n.Template) > max(1, most) || n.Text == "ptr" && len(n.Template) < 2 {
		fail(n.Pos, "'%s' takes another number of template arguments than %d", n.Text, len(n.Template))
	}
	if n.Text == "ptr" {
		return c.pointerType(n)
	}
	elem := c.typeOf(n.Template[0])
	at := n.Template[0].At()
	switch n.Text {
	case "array":
		return c.arrayType(n, elem)
	case "atomic":
		if elem != i32 && elem != u32 {
			fail(at, "atomic only supports i32 or u32 types")
		}
		return c.types.atomic(elem)
	}
	if columns, rows, ok := matrixShape(n.Text); ok {
		if elem != f32 && elem != f16 {
			fail(at, "matrix element type must be 'f32' or 'f16'")
		}
		return c.types.mat(elem, columns, rows)
	}
	if !elem.isScalar() {
		fail(at, "vector element type must be 'bool', 'f32', 'f16', 'i32' or 'u32'")
	}
	return c.types.vec(elem, int(n.Text[3]-'0'))
}

func (c *checker) arrayType(n *syntax.Name, elem *Type) *Type {
	at := n.Template[0].At()
	if elem.Kind == Ptr || elem.Runtime() || elem.Count != nil ||
		elem.contains((*Type).Runtime) {
		fail(at, "an array element type must have a fixed size")
	}
	if nesting(elem) >= maxNesting {
		fail(at, "array has nesting depth of more than %d", maxNesting)
	}
	if len(n.Template) == 1 {
		return c.types.array(elem, 0)
	}
	count := c.value(n.Template[1])
	at = n.Template[1].At()
	if !count.Type.isInt() {
		fail(at, "array count must evaluate to a constant integer expression or override variable")
	}
	count = c.concrete(count)
	if count.Op == Const {
		v := integer(count.Type.Kind, count.Words[0])
		if v < 1 {
			fail(at, "array count (%d) must be greater than 0", v)
		}
		if elem.Words > 0 && v*int64(elem.Words) > 1<<28 {
			fail(at, "array count (%d) is too large", v)
		}
		return c.types.array(elem, int(v))
	}
	if !count.overridable() {
		fail(at, "array count must evaluate to a constant integer expression or override variable")
	}
	return &Type{Kind: Array, Elem: elem, Count: count, Name: "array<" + elem.Name + ", override>", Align: elem.Align}
}

func nesting(t *Type) int {
	deepest := 0
	for _, f := range t.Fields {
		deepest = max(deepest, nesting(f.Type))
	}
	if t.Kind == Array {
		deepest = nesting(t.Elem)
	} else if t.Kind != Struct {
		return 0
	}
	return deepest + 1
}

// enumerant reads a template argument that is a word of the language.
func (c *checker) enumerant(e syntax.Expr, what string, values []string) int {
	n, ok := e.(*syntax.Name)
	if !ok || n.Templated {
		fail(e.At(), "expected %s", what)
	}
	if c.lookup(n.Text, n.Pos) != nil {
		fail(e.At(), "cannot use '%s' as %s", n.Text, what)
	}
	i := slices.Index(values, n.Text)
	if i < 0 {
		fail(e.At(), "unresolved %s '%s'", what, n.Text)
	}
	return i
}

var (
	spaces   = []string{"function", "private", "workgroup", "uniform", "storage"}
	accesses = []string{"read", "read_write"}
)

// spaceAccess reads the address space and access mode of a variable or pointer.
func (c *checker) spaceAccess(space syntax.Expr, access []syntax.Expr) (Space, Access) {
	s := Space(c.enumerant(space, "address space", spaces))
	if len(access) > 0 {
		if s != Storage {
			fail(access[0].At(), "only variables in <storage> address space may specify an access mode")
		}
		return s, Access(c.enumerant(access[0], "access mode", accesses))
	}
	if s == Storage || s == Uniform {
		return s, Read
	}
	return s, ReadWrite
}

func (c *checker) pointerType(n *syntax.Name) *Type {
	space, access := c.spaceAccess(n.Template[0], n.Template[2:])
	elem := c.typeOf(n.Template[1])
	if elem.Kind == Ptr {
		fail(n.Template[1].At(), "ptr<> cannot point to a pointer")
	}
	if space == Storage || space == Uniform {
		hostShareable(elem, space, n.Pos)
	}
	if space != Storage && elem.contains((*Type).Runtime) {
		fail(n.Pos, "runtime-sized arrays cannot be used in the <%s> address space", space)
	}
	return c.types.pointer(Ptr, elem, space, access)
}

// structure checks a structure and lays it out.
func (c *checker) structure(d *syntax.Struct) *Type {
	t := &Type{Kind: Struct, Name: d.Name}
	if len(d.Members) == 0 {
		fail(d.NamePos, "structures must have at least one member")
	}
	if len(d.Members) > maxStructMembers {
		fail(d.NamePos, "a structure may not have more than %d members", maxStructMembers)
	}
	for i, m := range d.Members {
		if t.field(m.Name) >= 0 {
			fail(m.Pos, "redefinition of '%s'", m.Name)
		}
		ft := c.typeOf(m.Type)
		if ft.Kind == Ptr || ft.Count != nil {
			fail(m.Type.At(), "a member of a structure cannot be of type '%s'", ft)
		}
		if ft.contains((*Type).Runtime) && (!ft.Runtime() || i < len(d.Members)-1) {
			fail(m.Pos, "runtime arrays may only appear as the last member of a struct")
		}
		f := Field{Name: m.Name, Pos: m.Pos, Type: ft, Align: ft.Align, Size: ft.Size}
		c.memberAttributes(m, &f)
		t.Fields = append(t.Fields, f)
	}
	if nesting(t) > maxNesting {
		fail(d.NamePos, "struct '%s' has nesting depth of more than %d", d.Name, maxNesting)
	}
	t.layout()
	return t
}

func (c *checker) memberAttributes(m syntax.Param, f *Field) {
	for _, a := range m.Attributes {
		switch a.Name {
		case "align", "size":
			v := c.attributeInt(a)
			if a.Name == "align" {
				if v < 1 || v&(v-1) != 0 {
					fail(a.Pos, "@align value must be a positive, power-of-two integer")
				}
				if int(v) < f.Type.Align {
					fail(a.Pos, "alignment must be a multiple of '%d' bytes", f.Type.Align)
				}
				f.Align = int(v)
			} else {
				if int(v) < f.Type.Size || f.Type.Runtime() {
					fail(a.Pos, "@size must be at least as big as the type's size (%d)", f.Type.Size)
				}
				f.Size = int(v)
			}
		case "builtin":
		case "location", "interpolate", "invariant", "blend_src":
			fail(a.Pos, "@%s is not supported: this evaluator runs compute shaders", a.Name)
		default:
			fail(a.Pos, "@%s is not valid for struct members", a.Name)
		}
	}
}

// attributeInt reads an attribute with one constant of at least 0.
func (c *checker) attributeInt(a syntax.Attribute) int64 {
	if len(a.Args) != 1 {
		fail(a.Pos, "@%s expects 1 argument, got %d", a.Name, len(a.Args))
	}
	e := c.value(a.Args[0])
	if e.Op != Const {
		fail(a.Args[0].At(), "@%s requires a const-expression, but expression is a runtime-expression", a.Name)
	}
	if !e.Type.isInt() {
		fail(a.Args[0].At(), "@%s must be an i32 or u32 value", a.Name)
	}
	v := integer(e.Type.Kind, e.Words[0])
	if v < 0 || v > 1<<31-1 {
		fail(a.Args[0].At(), "@%s value must be non-negative", a.Name)
	}
	return v
}
