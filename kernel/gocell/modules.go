package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/module"

	"forgekernel/display"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/gomod"
)

// Packages of modules that %goget fetched are interpreted, like cells. Each is
// checked when something first imports it, translated when a cell first uses it,
// and initialised before that cell runs.

// modules are those of one session.
type modules struct {
	getting chan struct{} // holds an element while Get fetches

	mu      sync.Mutex // guards what follows
	roots   []module.Version
	build   *gomod.Build
	dropped bool // by %reset
	loaded  map[string]*modulePackage
	read    map[string]*gomod.Package // sources that are not checked yet
	err     map[string]error          // of packages that are to be refused again
	unread  int                       // how often a source could not be fetched
	paths   []string                  // of the packages of roots

	preparing bool           // a cell, which shows what it imports
	meter     *display.Meter // of the import that goes on, nil when none does
	// What the meter is about: a package, and whether it is being translated.
	importing  string
	translates bool

	// files are their sources. They have a lock of their own, for a debugger that
	// looks while a module is being fetched.
	files struct {
		sync.Mutex
		byName map[string]string
	}
}

// modulePackage is a checked package of a module.
type modulePackage struct {
	*sourcePackage
	module module.Version
	texts  []*text // of its files
	unit   *eval.Unit
	start  *eval.Program // runs its initialisation
	failed error         // of its initialisation
}

// Module is a module that cells can import from.
type Module struct {
	Path, Version string
	Packages      []string // of a module that was asked for
}

// Get fetches a module, "path@version" or "path@latest", with what it needs. It
// lists all modules of the session, those that were asked for with their
// packages. A module some of whose packages are in use keeps its version.
func (s *Session) Get(ctx context.Context, query string) ([]Module, error) {
	f, err := gomod.New(os.Getenv)
	if err != nil {
		return nil, err
	}
	root, err := f.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	if providedModule(root.Path) {
		return nil, fmt.Errorf("module %s is part of this kernel; import its packages as they are", root.Path)
	}
	s.mu.Lock()
	mods := s.mods
	s.mu.Unlock()
	select {
	case mods.getting <- struct{}{}:
		defer func() { <-mods.getting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	mods.mu.Lock()
	roots := slices.DeleteFunc(slices.Clone(mods.roots), func(m module.Version) bool { return m.Path == root.Path })
	mods.mu.Unlock()
	roots = append(roots, root)
	list, err := f.Select(ctx, roots, providedModule)
	if err != nil {
		return nil, err
	}
	build := f.Open(list)
	found, err := describe(ctx, build, roots)
	if err == nil {
		err = mods.use(build, roots, found)
	}
	if err != nil {
		build.Close()
		return nil, err
	}
	return found, nil
}

// describe lists the modules of a build, those that were asked for with their
// packages.
func describe(ctx context.Context, build *gomod.Build, roots []module.Version) ([]Module, error) {
	var found []Module
	for _, m := range build.Modules {
		item := Module{Path: m.Path, Version: m.Version}
		if slices.Contains(roots, m) {
			var err error
			if item.Packages, err = build.Packages(ctx, m); err != nil {
				return nil, err
			}
		}
		found = append(found, item)
	}
	return found, nil
}

// use makes a build the one that cells import from.
func (m *modules) use(build *gomod.Build, roots []module.Version, found []Module) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped {
		return errors.New("the session was reset meanwhile")
	}
	for path, p := range m.loaded {
		if hostpkg.Interpreted(path) {
			continue
		}
		i := slices.IndexFunc(build.Modules, func(m module.Version) bool { return m.Path == p.module.Path })
		if i < 0 || build.Modules[i] != p.module {
			return fmt.Errorf("%s would change the version of %v, which cells use already; %%reset first", roots[len(roots)-1], p.module)
		}
	}
	if m.build != nil {
		m.build.Close()
	}
	m.roots, m.build, m.read, m.err, m.paths = roots, build, nil, nil, nil
	for _, item := range found {
		m.paths = append(m.paths, item.Packages...)
	}
	return nil
}

// drop closes the archives, for good.
func (m *modules) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.build != nil {
		m.build.Close()
	}
	m.build, m.dropped = nil, true
}

// Modules lists the paths of the modules that were asked for.
func (s *Session) Modules() []string {
	s.mu.Lock()
	mods := s.mods
	s.mu.Unlock()
	mods.mu.Lock()
	defer mods.mu.Unlock()
	var list []string
	for _, m := range mods.roots {
		list = append(list, m.Path)
	}
	return list
}

// modulePaths lists the packages of the modules that were asked for.
func (s *Session) modulePaths() []string {
	s.mu.Lock()
	mods := s.mods
	s.mu.Unlock()
	mods.mu.Lock()
	defer mods.mu.Unlock()
	return mods.paths
}

// providedModule reports whether the binary has the packages of a module.
func providedModule(path string) bool {
	return slices.ContainsFunc(hostpkg.Paths(), func(p string) bool {
		return strings.Contains(p, ".") && (p == path || strings.HasPrefix(p, path+"/"))
	})
}

// ModuleFiles are the sources of the packages of modules that have been imported,
// by the names that Call.File has for them: path@version/dir/file.go.
func (s *Session) ModuleFiles() map[string]string {
	s.mu.Lock()
	files := &s.mods.files
	s.mu.Unlock()
	files.Lock()
	defer files.Unlock()
	return maps.Clone(files.byName)
}

// unitOfModule translates a package, after those that it imports, once.
func (s *Session) unitOfModule(p *modulePackage) (*eval.Unit, error) {
	if p.unit != nil {
		return p.unit, nil
	}
	s.mods.translating()
	lib := &library{fset: p.fset, texts: p.texts}
	u := &eval.Unit{
		Fset: p.fset, Pkg: p.pkg, Files: p.files, Info: p.info, Init: true,
		Vars: map[*types.Var]*eval.Var{}, Funcs: map[*types.Func]*eval.Code{}, Position: lib.position,
	}
	for _, dep := range p.pkg.Imports() {
		d, err := s.unitOfSource(dep.Path())
		if err != nil {
			return nil, err
		}
		if d != nil {
			u.Generic = append(u.Generic, d)
		}
	}
	u.Generic = withNeeded(u.Generic)
	for id, obj := range p.info.Defs {
		switch obj := obj.(type) {
		case *types.Var:
			if obj.Parent() == p.pkg.Scope() || id.Name == "_" && !obj.IsField() && isPackageLevel(p, id) {
				u.Vars[obj] = eval.NewVar(obj.Type())
			}
		case *types.Func:
			if obj.Signature().Recv() == nil && obj.Signature().TypeParams().Len() == 0 {
				u.Funcs[obj] = &eval.Code{Name: obj.Name()}
			}
		}
	}
	s.engine.Interpret(p.pkg.Path())
	start, err := s.engine.Compile(u)
	if err != nil {
		return nil, fmt.Errorf("package %s cannot be interpreted: %w", p.pkg.Path(), err)
	}
	start.Link()
	p.unit, p.start = u, start
	s.starting = append(s.starting, p)
	return u, nil
}

func isPackageLevel(p *modulePackage, id *ast.Ident) bool {
	for _, f := range p.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				if slices.Contains(spec.(*ast.ValueSpec).Names, id) {
					return true
				}
			}
		}
	}
	return false
}
