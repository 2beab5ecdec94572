package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
)

// host gives the engine compiled packages.
type host struct{}

func (host) Symbol(path, name string) (reflect.Value, bool) { return hostpkg.Symbol(path, name) }

// sourcePackage is a package of generic functions, checked from source.
type sourcePackage struct {
	pkg   *types.Package
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

var sources struct {
	sync.Mutex
	loaded map[string]*sourcePackage
}

// importer gives the checker compiled packages, and those of generic functions
// from source.
type importer struct {
	ctx     context.Context // of fetching modules
	modules *modules
}

func (c *check) importer() importer { return importer{c.ctx, c.s.mods} }

func (i importer) Import(path string) (*types.Package, error) {
	if i.modules != nil && !strings.HasPrefix(path, "forgekernel/") {
		switch p, err := i.modules.find(i.ctx, path); {
		case err == nil:
			return p.pkg, nil
		case !errors.Is(err, errNoModule):
			return nil, err
		}
	}
	if p, err := sourceOf(path); p != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return p.pkg, nil
	}
	return hostpkg.Importer().Import(path)
}

// knownPackage resolves a package name that a cell uses without an import.
func knownPackage(name string) (path string, ok bool) {
	if name == "unsafe" { // it has neither data nor code
		return name, true
	}
	return hostpkg.Known(name)
}

// sourceOf loads a package from source once per process; nil when it is not
// one of those.
func sourceOf(path string) (*sourcePackage, error) {
	if path != "slices" && path != "maps" && path != "cmp" {
		return nil, nil
	}
	sources.Lock()
	p := sources.loaded[path]
	sources.Unlock()
	if p != nil {
		return p, nil
	}
	texts, ok := hostpkg.Source(path)
	if !ok {
		return nil, nil
	}
	p = &sourcePackage{fset: newFileSet(), info: newInfo()}
	var fileNames []string
	for name := range texts {
		fileNames = append(fileNames, name)
	}
	slices.Sort(fileNames)
	for _, name := range fileNames {
		f, err := parser.ParseFile(p.fset, name, texts[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("source of %s: %w", path, err)
		}
		p.files = append(p.files, f)
	}
	config := types.Config{Importer: importer{}, Sizes: sizes}
	var err error
	if p.pkg, err = config.Check(path, p.fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("source of %s: %w", path, err)
	}
	sources.Lock()
	defer sources.Unlock()
	if earlier := sources.loaded[path]; earlier != nil {
		return earlier, nil
	}
	if sources.loaded == nil {
		sources.loaded = map[string]*sourcePackage{}
	}
	sources.loaded[path] = p
	return p, nil
}

var sizes = types.SizesFor("gc", runtime.GOARCH)

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
}

// unitOfSource translates a source package for this session once.
func (s *Session) unitOfSource(path string) (*eval.Unit, error) {
	if u := s.sourceUnits[path]; u != nil {
		return u, nil
	}
	if m := s.mods.loadedPackage(path); m != nil {
		return s.unitOfModule(m)
	}
	p, err := sourceOf(path)
	if p == nil || err != nil {
		return nil, err
	}
	u := &eval.Unit{
		Fset: p.fset, Pkg: p.pkg, Files: p.files, Info: p.info, Funcs: map[*types.Func]*eval.Code{},
		Position: func(token.Pos) (*eval.Source, int, bool) { return nil, 0, false },
	}
	for _, dep := range p.pkg.Imports() {
		if d, err := s.unitOfSource(dep.Path()); err != nil {
			return nil, err
		} else if d != nil {
			u.Generic = append(u.Generic, d)
		}
	}
	for _, file := range p.files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Body != nil && d.Type.TypeParams == nil {
				u.Funcs[p.info.Defs[d.Name].(*types.Func)] = &eval.Code{Name: d.Name.Name}
			}
		}
	}
	prog, err := s.engine.Compile(u)
	if err != nil {
		return nil, err
	}
	prog.Link()
	s.sourceUnits[path] = u
	return u, nil
}
