package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// predeclaredDocs documents what every Go file knows: append, error, nil. The
// package that declares them exists for its documentation only.
func predeclaredDocs() (map[string]string, error) {
	list, err := goList(archive.Predeclared)
	if err != nil {
		return nil, err
	}
	w := docWriter{token.NewFileSet(), &doc.Package{}, nil, map[string]string{}}
	for _, p := range list {
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(w.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range f.Decls {
				w.predeclared(d)
			}
		}
	}
	if len(w.docs) == 0 {
		return nil, fmt.Errorf("package %s declares nothing", archive.Predeclared)
	}
	return w.docs, nil
}

func (w docWriter) predeclared(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		w.text(d.Name.Name, w.source(d), d.Doc.Text())
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			comment := d.Doc.Text()
			switch s := spec.(type) {
			case *ast.TypeSpec:
				w.text(s.Name.Name, "type "+w.source(s), comment+s.Doc.Text())
			case *ast.ValueSpec:
				for _, name := range s.Names {
					w.text(name.Name, d.Tok.String()+" "+name.Name, comment+s.Doc.Text()+s.Comment.Text())
				}
			}
		}
	}
}
