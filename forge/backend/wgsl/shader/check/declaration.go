package check

import "forgekernel/forge/backend/wgsl/shader/syntax"

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
		if t.contains((*Type).Runtime) {
			fail(at, "runtime-sized arrays can only be used in the <storage> address space")
		}
	case Uniform, Storage:
		hostShareable(t, v.Space, at)
		if v.Space == Uniform {
			if t.contains((*Type).Runtime) {
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
		for _, v := range f.named() {
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
