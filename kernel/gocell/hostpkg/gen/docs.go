package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// addDocs collects declaration and documentation of every exported name.
func addDocs(packages []*hostPackage) error {
	for _, p := range packages {
		if err := p.addDocs(); err != nil {
			return fmt.Errorf("%s: documentation: %w", p.ImportPath, err)
		}
	}
	return nil
}

func (p *hostPackage) addDocs() error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	d, err := doc.NewFromFiles(fset, files, p.ImportPath)
	if err != nil {
		return err
	}
	w := docWriter{fset, d, p.types, map[string]string{}}
	w.text("", fmt.Sprintf("package %s // import %q", d.Name, p.ImportPath), d.Doc)
	w.values(d.Consts)
	w.values(d.Vars)
	w.funcs("", d.Funcs)
	for _, t := range d.Types {
		w.typ(t)
	}
	p.docs = w.docs
	return nil
}

type docWriter struct {
	fset  *token.FileSet
	pkg   *doc.Package
	types *types.Package
	docs  map[string]string
}

// text joins a declaration with its documentation, as plain text.
func (w docWriter) text(name, declaration, comment string) {
	body := strings.TrimRight(string(w.pkg.Text(comment)), "\n")
	if body != "" {
		declaration += "\n\n" + body
	}
	w.docs[name] = declaration
}

func (w docWriter) funcs(receiver string, funcs []*doc.Func) {
	for _, f := range funcs {
		name := f.Name
		if receiver != "" {
			name = receiver + "." + name
		}
		w.text(name, w.source(f.Decl), f.Doc)
	}
}

func (w docWriter) typ(t *doc.Type) {
	w.text(t.Name, w.source(t.Decl), t.Doc)
	w.values(t.Consts)
	w.values(t.Vars)
	w.funcs("", t.Funcs)
	w.funcs(t.Name, t.Methods)
	for _, spec := range t.Decl.Specs {
		switch typ := spec.(*ast.TypeSpec).Type.(type) {
		case *ast.StructType:
			w.members(t.Name, typ.Fields, " ")
		case *ast.InterfaceType:
			w.members(t.Name, typ.Methods, "")
		}
	}
}

// members documents the fields of a struct or the methods of an interface that
// have comments of their own; the others are told by the declaration of the
// type. before stands between name and type: a method's signature follows its
// name at once.
func (w docWriter) members(typeName string, list *ast.FieldList, before string) {
	for _, f := range list.List {
		comment := f.Doc.Text() + f.Comment.Text()
		if comment == "" {
			continue
		}
		typ := w.source(f.Type)
		if before == "" {
			typ = strings.TrimPrefix(typ, "func")
		}
		for _, name := range f.Names {
			if name.IsExported() {
				w.text(typeName+"."+name.Name, name.Name+before+typ, comment)
			}
		}
	}
}

// values documents each name of a group of constants or variables by its own
// declaration, its own comment, and that of the group where it has none.
func (w docWriter) values(groups []*doc.Value) {
	for _, g := range groups {
		for _, spec := range g.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			comment := v.Doc.Text() + v.Comment.Text()
			if comment == "" || len(g.Decl.Specs) == 1 {
				comment = g.Doc
			}
			for i, name := range v.Names {
				if name.IsExported() {
					w.text(name.Name, w.value(v, i), comment)
				}
			}
		}
	}
}

// value declares one constant or variable. Types are written out, which the
// source often leaves to be inferred, and so are the values of constants unless
// they stand there as literals.
func (w docWriter) value(spec *ast.ValueSpec, i int) string {
	obj := w.types.Scope().Lookup(spec.Names[i].Name)
	c, ok := obj.(*types.Const)
	if !ok {
		return types.ObjectString(obj, w.qualify)
	}
	line := "const " + c.Name()
	if basic, ok := c.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
		line += " " + types.TypeString(c.Type(), w.qualify)
	}
	if i < len(spec.Values) {
		if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
			return line + " = " + literal.Value
		}
	}
	return line + " = " + c.Val().String()
}

func (w docWriter) qualify(p *types.Package) string {
	if p == w.types {
		return ""
	}
	return p.Name()
}

// source prints a declaration as it stands, without function bodies.
func (w docWriter) source(node any) string {
	switch n := node.(type) {
	case *ast.FuncDecl:
		node = &ast.FuncDecl{Recv: n.Recv, Name: n.Name, Type: n.Type}
	case *ast.GenDecl:
		d := *n
		d.Doc = nil
		node = &d
	}
	var b bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}
	if err := config.Fprint(&b, w.fset, node); err != nil {
		panic(fmt.Sprintf("printing a declaration of %s: %v", w.pkg.ImportPath, err))
	}
	return b.String()
}
