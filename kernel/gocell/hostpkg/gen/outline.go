package main

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

// outlined makes a package of the types that p declares, without what they
// consist of. Export data repeats every declaration that it refers to, those of
// other packages too; written of a package that refers to outlines, it says
// little more than their names. A reader that has read the other packages
// before finds the types there and does not look at the outlines.
//
// Of a type the outline keeps what is written where it is used: whether it is
// basic, for constants, or an interface, for embedding and constraints, and the
// number of its parameters.
func outlined(p *types.Package) *types.Package {
	outline := types.NewPackage(p.Path(), p.Name())
	for _, name := range p.Scope().Names() {
		obj, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		var underlying types.Type = types.NewStruct(nil, nil)
		switch u := obj.Type().Underlying().(type) {
		case *types.Basic:
			underlying = u
		case *types.Interface:
			underlying = types.NewInterfaceType(nil, nil).Complete()
		}
		named := types.NewNamed(types.NewTypeName(token.NoPos, outline, name, nil), underlying, nil)
		if generic, ok := obj.Type().(interface{ TypeParams() *types.TypeParamList }); ok {
			named.SetTypeParams(outlinedParams(outline, generic.TypeParams().Len()))
		}
		outline.Scope().Insert(named.Obj())
	}
	outline.MarkComplete()
	return outline
}

func outlinedParams(p *types.Package, n int) []*types.TypeParam {
	params := make([]*types.TypeParam, n)
	for i := range params {
		name := types.NewTypeName(token.NoPos, p, fmt.Sprint("P", i), nil)
		params[i] = types.NewTypeParam(name, types.Universe.Lookup("any").Type())
	}
	return params
}

// checkExports reads all export data in the order of a reader and compares every
// package with what the compiler says of it.
func checkExports(packages map[string]*hostPackage) error {
	imports, done := map[string]*types.Package{}, map[string]bool{}
	var check func(p *hostPackage) error
	check = func(p *hostPackage) error {
		if done[p.ImportPath] {
			return nil
		}
		done[p.ImportPath] = true
		for _, dep := range p.deps {
			if err := check(packages[dep]); err != nil {
				return err
			}
		}
		read, err := gcexportdata.Read(bytes.NewReader(p.export), token.NewFileSet(), imports, p.ImportPath)
		if err != nil {
			return fmt.Errorf("%s: reading it back: %w", p.ImportPath, err)
		}
		return sameNames(p.types, read)
	}
	for _, p := range packages {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

// sameNames compares the exported names of two readings of a package.
func sameNames(want, got *types.Package) error {
	for _, name := range want.Scope().Names() {
		obj := want.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		if w, g := described(obj), described(got.Scope().Lookup(name)); w != g {
			return fmt.Errorf("the export data says %s in place of %s", g, w)
		}
	}
	return nil
}

// described tells an object with its type, and the methods of a type.
func described(obj types.Object) string {
	if obj == nil {
		return "nothing"
	}
	text := types.ObjectString(obj, nil)
	if _, ok := obj.(*types.TypeName); ok {
		for _, m := range methodsOf(obj.Type()) {
			text += "; " + m
		}
	}
	return strings.ReplaceAll(text, "interface{}", "any") // which types of the universe print as
}

func methodsOf(t types.Type) (list []string) {
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for m := range types.NewMethodSet(t).Methods() {
		list = append(list, m.String())
	}
	return list
}
