package eval

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"forgekernel/kernel/gocell/rtype"
)

// Methods of generic types have no code of their own; their instances have.
// An instance keeps its code in a cell, like a declared method, so that all who
// call it follow when the method is given new code.

// instance is the code of one method of one instance of a generic type.
type instance struct {
	code   *Code
	origin *types.Func
	recv   types.Type // T or *T, as the method declares it
}

// instanceCode returns the code of a method of an instance of a session type,
// nil for every other function.
func (c *compiler) instanceCode(fn *ssa.Function) *Code {
	obj, ok := fn.Object().(*types.Func)
	if !ok || fn.Origin() == nil || obj.Signature().Recv() == nil || obj.Pkg() == nil || !c.e.isInterpreted(obj.Pkg().Path()) {
		return nil
	}
	recv := obj.Signature().Recv().Type()
	named := rtype.NamedOf(recv)
	if named == nil || named.TypeArgs().Len() == 0 {
		return nil
	}
	i := c.e.instance(named, recv, obj)
	if err := c.e.failed[i.origin]; err != nil && !c.isForwarded(i.origin) {
		i.code.Fail(err)
		return i.code
	}
	if i.code.fn.Load() == nil || c.isForwarded(i.origin) {
		c.linkInstance(i, fn)
	}
	return i.code
}

func (c *compiler) isForwarded(origin *types.Func) bool {
	return slices.Contains(c.unit.Forwarded, origin)
}

// linkInstance translates an instance once per unit.
func (c *compiler) linkInstance(i *instance, fn *ssa.Function) {
	if _, done := c.funcs[fn]; !done {
		c.link = append(c.link, linkage{i.code, c.function(fn)})
	}
}

func (e *Engine) instance(named *types.Named, recv types.Type, obj *types.Func) *instance {
	methods, _ := e.instances.At(named).(map[string]*instance)
	if methods == nil {
		methods = map[string]*instance{}
		e.instances.Set(named, methods)
	}
	i := methods[obj.Name()]
	if i == nil {
		i = &instance{&Code{Name: obj.Name()}, obj.Origin(), recv}
		methods[obj.Name()] = i
	}
	return i
}

// relink translates again the instances whose method the unit gives new code.
func (c *compiler) relink() {
	if len(c.unit.Forwarded) == 0 {
		return
	}
	c.e.eachInstance(func(i *instance) {
		if !c.isForwarded(i.origin) {
			return
		}
		set := types.NewMethodSet(i.recv)
		if sel := set.Lookup(i.origin.Pkg(), i.origin.Name()); sel != nil {
			c.linkInstance(i, c.prog.MethodValue(sel))
		}
	})
}

// FailMethod makes the calls of a generic type's method panic with err, until
// it is given new code.
func (e *Engine) FailMethod(origin *types.Func, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed[origin] = err
	e.eachInstance(func(i *instance) {
		if i.origin == origin {
			i.code.Fail(err)
		}
	})
}

func (e *Engine) eachInstance(f func(*instance)) {
	e.instances.Iterate(func(_ types.Type, methods any) {
		for _, i := range methods.(map[string]*instance) {
			f(i)
		}
	})
}
