package rtype

import (
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// typeName is the name of a type with its type arguments, behind those of the
// function that declares it.
func (t *Table) typeName(named *types.Named) string {
	name := named.Obj().Name()
	outer, own := t.argNames(t.within[named.Origin()]), t.argNames(slices.Collect(named.TypeArgs().Types()))
	switch {
	case outer != "" && own != "":
		return name + "[" + outer + ";" + own + "]"
	case outer+own != "":
		return name + "[" + outer + own + "]"
	}
	return name
}

func (t *Table) argNames(list []types.Type) string {
	var names []string
	for _, a := range list {
		names = append(names, t.argName(a))
	}
	return strings.Join(names, ",")
}

// argName writes a type argument as the compiler does: with whole import paths,
// without aliases, and with a number behind types that functions declare.
func (t *Table) argName(a types.Type) string {
	switch a := types.Unalias(a).(type) {
	case *types.Basic:
		if a.Kind() == types.UnsafePointer {
			return "unsafe.Pointer"
		}
		return types.Typ[a.Kind()].Name() // uint8 for byte
	case *types.Named:
		name := t.typeName(a)
		if a.Obj().Pkg() == nil {
			return name
		}
		if n := t.Number(a.Obj()); n > 0 {
			name += "·" + strconv.Itoa(n)
		}
		return a.Obj().Pkg().Path() + "." + name
	case *types.Pointer:
		return "*" + t.argName(a.Elem())
	case *types.Slice:
		return "[]" + t.argName(a.Elem())
	case *types.Array:
		return "[" + strconv.FormatInt(a.Len(), 10) + "]" + t.argName(a.Elem())
	case *types.Map:
		return "map[" + t.argName(a.Key()) + "]" + t.argName(a.Elem())
	case *types.Chan:
		return t.chanName(a)
	case *types.Signature:
		return "func" + t.signature(a)
	case *types.Struct:
		return t.structName(a)
	case *types.Interface:
		return t.interfaceName(a)
	}
	return types.TypeString(a, (*types.Package).Path)
}

func (t *Table) chanName(c *types.Chan) string {
	elem := t.argName(c.Elem())
	switch c.Dir() {
	case types.SendOnly:
		return "chan<- " + elem
	case types.RecvOnly:
		return "<-chan " + elem
	}
	if strings.HasPrefix(elem, "<-") {
		elem = "(" + elem + ")"
	}
	return "chan " + elem
}

func (t *Table) signature(sig *types.Signature) string {
	var in, out []string
	for i := range sig.Params().Len() {
		p := sig.Params().At(i).Type()
		if sig.Variadic() && i == sig.Params().Len()-1 {
			in = append(in, "..."+t.argName(p.Underlying().(*types.Slice).Elem()))
		} else {
			in = append(in, t.argName(p))
		}
	}
	for r := range sig.Results().Variables() {
		out = append(out, t.argName(r.Type()))
	}
	text := "(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return text
	case 1:
		return text + " " + out[0]
	}
	return text + " (" + strings.Join(out, ", ") + ")"
}

func (t *Table) structName(s *types.Struct) string {
	var fields []string
	for i := range s.NumFields() {
		f := s.Field(i)
		text := t.argName(f.Type())
		switch {
		case !f.Embedded():
			text = memberName(f) + " " + text
		case !namedByType(f):
			text = memberName(f) + " = " + text
		}
		if tag := s.Tag(i); tag != "" {
			text += " " + strconv.Quote(tag)
		}
		fields = append(fields, text)
	}
	return braces("struct", fields)
}

// namedByType reports whether a field is embedded, so that its type tells its name.
func namedByType(f *types.Var) bool {
	typ := types.Unalias(f.Type())
	if p, ok := typ.(*types.Pointer); ok {
		typ = types.Unalias(p.Elem())
	}
	named, ok := typ.(*types.Named)
	return ok && named.TypeArgs().Len() == 0 && named.Obj().Name() == f.Name() &&
		(f.Exported() || named.Obj().Pkg() == f.Pkg())
}

func (t *Table) interfaceName(i *types.Interface) string {
	var methods []string
	for k := range i.NumMethods() {
		m := i.Method(k)
		methods = append(methods, memberName(m)+t.signature(m.Signature()))
	}
	return braces("interface", methods)
}

// memberName is qualified when it is not exported.
func memberName(obj types.Object) string {
	if obj.Exported() || obj.Pkg() == nil {
		return obj.Name()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

func braces(word string, parts []string) string {
	if len(parts) == 0 {
		return word + " {}"
	}
	return word + " { " + strings.Join(parts, "; ") + " }"
}

// NamedOf is the declared type that a type or what it points to is; nil if it is none.
func NamedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}
