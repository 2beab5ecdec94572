package rtype

import (
	"fmt"
	"go/types"
	"strings"
)

// typeName is the name of a declared type; an instance names its type arguments
// as the linker does.
func typeName(named *types.Named) string {
	name := named.Obj().Name()
	if named.TypeArgs().Len() == 0 {
		return name
	}
	var args []string
	for a := range named.TypeArgs().Types() {
		args = append(args, linkName(a))
	}
	return name + "[" + strings.Join(args, ",") + "]"
}

// linkName writes a type so that no two have the same text: with the paths of
// packages, also before names that are not exported, and without aliases.
func linkName(typ types.Type) string {
	switch typ := types.Unalias(typ).(type) {
	case *types.Basic:
		return basicName(typ)
	case *types.Named:
		if pkg := typ.Obj().Pkg(); pkg != nil {
			return pkg.Path() + "." + typeName(typ)
		}
		return typ.Obj().Name()
	case *types.Pointer:
		return "*" + linkName(typ.Elem())
	case *types.Slice:
		return "[]" + linkName(typ.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", typ.Len(), linkName(typ.Elem()))
	case *types.Map:
		return "map[" + linkName(typ.Key()) + "]" + linkName(typ.Elem())
	case *types.Chan:
		return chanName(typ)
	case *types.Signature:
		return "func" + signatureName(typ)
	case *types.Struct:
		return structName(typ)
	case *types.Interface:
		return interfaceName(typ)
	}
	return typ.String()
}

// basicName knows no other names of uint8 and int32.
func basicName(b *types.Basic) string { return types.Typ[b.Kind()].String() }

func chanName(c *types.Chan) string {
	elem := linkName(c.Elem())
	switch c.Dir() {
	case types.SendOnly:
		return "chan<- " + elem
	case types.RecvOnly:
		return "<-chan " + elem
	}
	if inner, ok := types.Unalias(c.Elem()).(*types.Chan); ok && inner.Dir() == types.RecvOnly {
		return "chan (" + elem + ")"
	}
	return "chan " + elem
}

func signatureName(sig *types.Signature) string {
	var params, results []string
	for p := range sig.Params().Variables() {
		params = append(params, linkName(p.Type()))
	}
	if last := len(params) - 1; sig.Variadic() {
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	for r := range sig.Results().Variables() {
		results = append(results, linkName(r.Type()))
	}
	text := "(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

// memberName is the name of a field or method.
func memberName(obj types.Object) string {
	if obj.Exported() {
		return obj.Name()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

func structName(s *types.Struct) string {
	if s.NumFields() == 0 {
		return "struct {}"
	}
	fields := make([]string, s.NumFields())
	for i := range fields {
		f := s.Field(i)
		text := linkName(f.Type())
		switch {
		case !f.Embedded():
			text = memberName(f) + " " + text
		case !namedByType(f):
			text = memberName(f) + " = " + text
		}
		if tag := s.Tag(i); tag != "" {
			text += fmt.Sprintf(" %q", tag)
		}
		fields[i] = text
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}

// namedByType reports an embedded field whose type tells its name.
func namedByType(f *types.Var) bool {
	typ := types.Unalias(f.Type())
	if p, ok := typ.(*types.Pointer); ok {
		typ = types.Unalias(p.Elem())
	}
	named, ok := typ.(*types.Named)
	return ok && named.TypeArgs().Len() == 0 && named.Obj().Name() == f.Name() &&
		(f.Exported() || named.Obj().Pkg() == f.Pkg())
}

func interfaceName(i *types.Interface) string {
	if i.NumMethods() == 0 {
		return "interface {}"
	}
	methods := make([]string, i.NumMethods())
	for k := range methods {
		m := i.Method(k)
		methods[k] = memberName(m) + signatureName(m.Signature())
	}
	return "interface { " + strings.Join(methods, "; ") + " }"
}
