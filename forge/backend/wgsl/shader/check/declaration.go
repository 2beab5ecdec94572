package check

import (
	"slices"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// globalVar checks var, const and override of the module.
func (c *checker) globalVar(d *syntax.VarDecl) *Var {
	v := &Var{Name: d.Name, Pos: d.NamePos, Keyword: d.Keyword, ID: -1}
	switch d.Keyword {
	case "const":
		c.noAttributes(d)
		c.constant(d, v)
	case "override":
		c.override(d, v)
		c.module.Overrides = append(c.module.Overrides, v)
	default:
		c.moduleVar(d, v)
		c.module.Vars = append(c.module.Vars, v)
	}
	return v
}

func (c *checker) noAttributes(d *syntax.VarDecl) {
	for _, a := range d.Attributes {
		fail(a.Pos, "@%s is not valid for '%s' declaration", a.Name, d.Keyword)
	}
}

// initial checks the type and the value of a declaration, the value converted;
// either may be nil, not both.
func (c *checker) initial(d *syntax.VarDecl) (*Type, *Expr) {
	var t *Type
	if d.Type != nil {
		t = c.typeOf(d.Type)
	}
	if d.Init == nil {
		if t == nil {
			fail(d.NamePos, "'%s' declaration requires a type or initializer", d.Keyword)
		}
		return t, nil
	}
	e := c.value(d.Init)
	switch {
	case t == nil && d.Keyword == "const":
	case t == nil:
		e = c.concrete(e)
	default:
		converted := c.convertible(e, t)
		if converted == nil {
			fail(d.Init.At(), "cannot initialize '%s' of type '%s' with value of type '%s'", d.Keyword, t, e.Type)
		}
		e = converted
	}
	return e.Type, e
}

func (c *checker) constant(d *syntax.VarDecl, v *Var) {
	v.Type, v.Init = c.initial(d)
	if v.Init.Op != Const {
		fail(d.Init.At(), "const initializer requires a const-expression, but expression is a runtime-expression")
	}
}

func (c *checker) override(d *syntax.VarDecl, v *Var) {
	for _, a := range d.Attributes {
		if a.Name != "id" {
			fail(a.Pos, "@%s is not valid for 'override' declaration", a.Name)
		}
		v.ID = int(c.attributeInt(a))
		if v.ID > 65535 {
			fail(a.Pos, "@id value must be between 0 and 65535")
		}
		for _, o := range c.module.Overrides {
			if o.ID == v.ID {
				fail(a.Pos, "@id values must be unique")
			}
		}
	}
	v.Type, v.Init = c.initial(d)
	if !v.Type.isScalar() {
		fail(d.NamePos, "'%s' cannot be used as the type of an 'override'", v.Type)
	}
	if v.Init != nil && !v.Init.overridable() {
		fail(d.Init.At(), "override initializer requires an override-expression, but expression is a runtime-expression")
	}
}

func (c *checker) moduleVar(d *syntax.VarDecl, v *Var) {
	if len(d.Template) == 0 {
		if d.Type != nil {
			c.typeOf(d.Type) // a texture is refused by its name
		}
		fail(d.NamePos, "module-scope 'var' declarations that are not of texture or sampler types must provide an address space")
	}
	if len(d.Template) > 2 {
		fail(d.Template[2].At(), "a 'var' takes an address space and an access mode")
	}
	v.Space, v.Access = c.spaceAccess(d.Template[0], d.Template[1:])
	v.Type, v.Init = c.initial(d)
	bound := c.bindingAttributes(d, v)
	resource := v.Space == Uniform || v.Space == Storage
	if resource != bound {
		if bound {
			fail(d.NamePos, "non-resource variables must not have @group or @binding attributes")
		}
		fail(d.NamePos, "resource variables require @group and @binding attributes")
	}
	if v.Init != nil && v.Space != Private {
		fail(d.NamePos, "var of address space '%s' cannot have an initializer. var initializers are only supported for the address spaces 'private' and 'function'", v.Space)
	}
	if v.Init != nil && !v.Init.overridable() {
		fail(d.Init.At(), "module-scope 'var' initializer requires a constant or override expression")
	}
	c.storeType(d, v)
}

func (c *checker) storeType(d *syntax.VarDecl, v *Var) {
	t, at := v.Type, d.NamePos
	if d.Type != nil {
		at = d.Type.At()
	}
	switch v.Space {
	case Function:
		if c.fn == nil {
			fail(d.NamePos, "module-scope 'var' must not use address space 'function'")
		}
		fallthrough
	case Private:
		if !t.constructible() {
			fail(at, "type '%s' cannot be used in address space '%s': it is not constructible", t, v.Space)
		}
	case Workgroup:
		if t.contains(func(t *Type) bool { return t.Runtime() }) {
			fail(at, "runtime-sized arrays can only be used in the <storage> address space")
		}
	case Uniform, Storage:
		hostShareable(t, v.Space, at)
		if v.Space == Uniform {
			if t.contains(func(t *Type) bool { return t.Runtime() }) {
				fail(at, "runtime-sized arrays can only be used in the <storage> address space")
			}
			uniformLayout(t, at)
		}
		if v.Access == Read && t.contains(func(t *Type) bool { return t.Kind == Atomic }) {
			fail(at, "atomic variables in <%s> address space must have 'read_write' access mode", v.Space)
		}
	}
	if v.Space != Uniform && v.Space != Storage && v.Space != Workgroup && t.Words*4 > maxVariableBytes {
		fail(at, "type '%s' has %d bytes, too many for address space '%s'", t, t.Words*4, v.Space)
	}
}

// uniformLayout checks the rules of uniform buffers: strides of arrays and
// places of structures are multiples of 16.
func uniformLayout(t *Type, at syntax.Pos) {
	switch t.Kind {
	case Array:
		if t.Stride()%16 != 0 {
			fail(at, "uniform storage requires that array elements are aligned to 16 bytes, but array element of type '%s' has a stride of %d bytes", t.Elem, t.Stride())
		}
		uniformLayout(t.Elem, at)
	case Struct:
		for i, f := range t.Fields {
			if (f.Type.Kind == Struct || f.Type.Kind == Array) && f.Offset%16 != 0 {
				fail(at, "the offset of a struct member of type '%s' in address space 'uniform' must be a multiple of 16 bytes, but '%s' is currently at offset %d", f.Type, f.Name, f.Offset)
			}
			if i > 0 {
				if p := t.Fields[i-1]; p.Type.Kind == Struct && f.Offset < p.Offset+roundUp(p.Size, 16) {
					fail(at, "uniform storage requires that the number of bytes between the start of the previous member of type struct and the current member be a multiple of 16 bytes")
				}
			}
			uniformLayout(f.Type, at)
		}
	}
}

func (c *checker) bindingAttributes(d *syntax.VarDecl, v *Var) bool {
	seen := map[string]bool{}
	for _, a := range d.Attributes {
		if seen[a.Name] {
			fail(a.Pos, "duplicate %s attribute", a.Name)
		}
		seen[a.Name] = true
		switch a.Name {
		case "group":
			v.Group = uint32(c.attributeInt(a))
		case "binding":
			v.Binding = uint32(c.attributeInt(a))
		default:
			fail(a.Pos, "@%s is not valid for module-scope 'var'", a.Name)
		}
	}
	if seen["group"] != seen["binding"] {
		fail(d.NamePos, "resource variables require @group and @binding attributes")
	}
	return seen["group"]
}

// bindings refuses two variables of one binding in one entry point.
func (c *checker) bindings() {
	for _, f := range c.module.Funcs {
		if !f.Compute {
			continue
		}
		seen := map[[2]uint32]*Var{}
		for _, v := range c.module.Reaches(f) {
			if v.Space != Uniform && v.Space != Storage {
				continue
			}
			key := [2]uint32{v.Group, v.Binding}
			if first := seen[key]; first != nil {
				fail(v.Pos, "entry point '%s' references multiple variables that use the same resource binding @group(%d), @binding(%d)", f.Name, v.Group, v.Binding)
			}
			seen[key] = v
		}
	}
}

func (c *checker) constAssert(a *syntax.ConstAssert) {
	e := c.value(a.X)
	if e.Op != Const {
		fail(a.X.At(), "const assertion requires a const-expression, but expression is a runtime-expression")
	}
	if e.Type.Kind != Bool {
		fail(a.X.At(), "const assertion condition must be a bool, got '%s'", e.Type)
	}
	if e.Words[0] == 0 {
		fail(a.Pos, "const assertion failed")
	}
}

// function checks a function with its body.
func (c *checker) function(d *syntax.Function) *Func {
	f := &Func{Name: d.Name, Pos: d.NamePos, Result: void, decl: d, access: map[*Var]access{}}
	c.fn = f
	c.stages(d, f)
	c.open()
	for _, p := range d.Params {
		f.Params = append(f.Params, c.parameter(p, f))
	}
	if d.Result != nil {
		f.Result = c.typeOf(d.Result)
		if !f.Result.constructible() {
			fail(d.Result.At(), "function return type must be a constructible type")
		}
		if f.Compute {
			fail(d.Result.At(), "compute entry points must not return a value")
		}
	}
	for _, a := range d.ResultAttributes {
		fail(a.Pos, "@%s is not valid for the result of a compute shader", a.Name)
	}
	c.flow = flow{}
	body := &Stmt{Op: Block, Pos: d.Body.Pos}
	reach := c.statements(body, d.Body.Stmts)
	if f.Result != void && reach&next != 0 {
		fail(d.Body.End, "missing return at end of function")
	}
	c.close()
	f.Body = body
	c.uniformity(f)
	c.module.Funcs = append(c.module.Funcs, f)
	return f
}

// stages reads the attributes of a function.
func (c *checker) stages(d *syntax.Function, f *Func) {
	sized := false
	for _, a := range d.Attributes {
		switch a.Name {
		case "compute":
			f.Compute = true
		case "workgroup_size":
			sized = true
			c.workgroupSize(a, f)
		case "must_use":
			if d.Result == nil {
				fail(a.Pos, "@must_use can only be applied to functions that return a value")
			}
		case "diagnostic":
		case "vertex", "fragment":
			fail(a.Pos, "@%s is not supported: this evaluator runs compute shaders", a.Name)
		default:
			fail(a.Pos, "@%s is not valid for functions", a.Name)
		}
	}
	if f.Compute && !sized {
		fail(d.NamePos, "a compute shader must include 'workgroup_size' in its attributes")
	}
	if sized && !f.Compute {
		fail(d.NamePos, "@workgroup_size is only valid for compute stages")
	}
}

func (c *checker) workgroupSize(a syntax.Attribute, f *Func) {
	if len(a.Args) < 1 || len(a.Args) > 3 {
		fail(a.Pos, "@workgroup_size expects 1 to 3 arguments, got %d", len(a.Args))
	}
	kind := AbstractInt
	for i, arg := range a.Args {
		e := c.value(arg)
		if !e.overridable() {
			fail(arg.At(), "@workgroup_size requires a constant or override expression")
		}
		if e.Type.Kind > AbstractInt && e.Type != i32 && e.Type != u32 {
			fail(arg.At(), "@workgroup_size arguments must be of type 'i32' or 'u32'")
		}
		if e.Type.Kind != AbstractInt {
			if kind != AbstractInt && kind != e.Type.Kind {
				fail(arg.At(), "@workgroup_size arguments must be of the same type")
			}
			kind = e.Type.Kind
		}
		e = c.concrete(e)
		if e.Op == Const && integer(e.Type.Kind, e.Words[0]) < 1 {
			fail(arg.At(), "@workgroup_size argument must be at least 1")
		}
		f.Workgroup[i] = e
	}
}

// inputs are the builtin values of compute shaders.
func (c *checker) inputType(name string) *Type {
	switch name {
	case "local_invocation_id", "global_invocation_id", "workgroup_id", "num_workgroups":
		return c.types.vec(u32, 3)
	case "local_invocation_index":
		return u32
	}
	return nil
}

func (c *checker) parameter(p syntax.Param, f *Func) *Var {
	v := &Var{Name: p.Name, Pos: p.Pos, Keyword: "param", Type: c.typeOf(p.Type), ID: -1}
	if !v.Type.constructible() && v.Type.Kind != Ptr {
		fail(p.Type.At(), "type of function parameter must be constructible")
	}
	v.Builtin = c.builtinAttribute(p.Attributes, v.Type, f)
	if f.Compute && v.Builtin == "" {
		c.inputStruct(p, v.Type, f)
	}
	c.declare(v)
	return v
}

// inputStruct checks a parameter of an entry point that collects builtins.
func (c *checker) inputStruct(p syntax.Param, t *Type, f *Func) {
	if t.Kind != Struct {
		fail(p.Pos, "missing entry point IO attribute on parameter")
	}
	name, _ := p.Type.(*syntax.Name)
	g := c.globals[name.Text]
	for g != nil {
		alias, ok := g.decl.(*syntax.Alias)
		if !ok {
			break
		}
		g = c.globals[alias.Type.(*syntax.Name).Text]
	}
	if g == nil {
		fail(p.Pos, "missing entry point IO attribute on parameter")
	}
	for i, m := range g.decl.(*syntax.Struct).Members {
		builtin := c.builtinAttribute(m.Attributes, t.Fields[i].Type, f)
		if builtin == "" {
			fail(m.Pos, "missing entry point IO attribute")
		}
		t.Fields[i].Builtin = builtin
	}
}

func (c *checker) builtinAttribute(list []syntax.Attribute, t *Type, f *Func) string {
	name := ""
	for _, a := range list {
		if a.Name != "builtin" || !f.Compute {
			if a.Name == "builtin" {
				fail(a.Pos, "@builtin is not valid for non-entry point function parameters")
			}
			if a.Name == "align" || a.Name == "size" {
				continue
			}
			fail(a.Pos, "@%s is not valid for function parameters", a.Name)
		}
		n, ok := &syntax.Name{}, false
		if len(a.Args) == 1 {
			n, ok = a.Args[0].(*syntax.Name)
		}
		if !ok || n.Templated {
			fail(a.Pos, "@builtin expects the name of a builtin value")
		}
		want := c.inputType(n.Text)
		if want == nil {
			fail(n.Pos, "unresolved builtin value '%s', or one that compute shaders do not have", n.Text)
		}
		if want != t {
			fail(n.Pos, "store type of '@builtin(%s)' must be '%s'", n.Text, want)
		}
		if slices.Contains(f.Inputs, n.Text) {
			fail(a.Pos, "@builtin(%s) appears multiple times as pipeline input", n.Text)
		}
		f.Inputs = append(f.Inputs, n.Text)
		name = n.Text
	}
	return name
}
