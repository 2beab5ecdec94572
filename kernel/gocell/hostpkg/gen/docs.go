package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
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
	w := docWriter{fset, d, map[string]string{}}
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
	fset *token.FileSet
	pkg  *doc.Package
	docs map[string]string
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
			w.fields(t.Name, typ.Fields)
		case *ast.InterfaceType:
			w.fields(t.Name, typ.Methods)
		}
	}
}

// fields documents the members of a struct or interface that have comments of
// their own; the others are told by the declaration of the type.
func (w docWriter) fields(typeName string, list *ast.FieldList) {
	for _, f := range list.List {
		comment := f.Doc.Text() + f.Comment.Text()
		if comment == "" {
			continue
		}
		for _, name := range f.Names {
			if name.IsExported() {
				w.text(typeName+"."+name.Name, name.Name+" "+w.source(f.Type), comment)
			}
		}
	}
}

// values documents each name of a group of constants or variables by its own
// line, its own comment, and that of the group.
func (w docWriter) values(groups []*doc.Value) {
	for _, g := range groups {
		for _, spec := range g.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			line := fmt.Sprintf("%s %s", g.Decl.Tok, w.source(&ast.ValueSpec{Names: v.Names, Type: v.Type, Values: short(v.Values)}))
			comment := v.Doc.Text() + v.Comment.Text()
			if comment == "" || len(g.Decl.Specs) == 1 {
				comment = g.Doc
			}
			for _, name := range v.Names {
				if name.IsExported() {
					w.text(name.Name, line, comment)
				}
			}
		}
	}
}

// short leaves out initial values that are not simple: tables, literals of
// functions.
func short(values []ast.Expr) []ast.Expr {
	for _, v := range values {
		if v.End()-v.Pos() > 80 {
			return nil
		}
	}
	return values
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
