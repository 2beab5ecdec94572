package check

import (
	"slices"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

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
