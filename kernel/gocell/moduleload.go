package gocell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/gomod"
)

// errNoModule is an import path that no module of the session has.
var errNoModule = errors.New("no module has it")

// find returns a package of a module, checked.
func (m *modules) find(ctx context.Context, path string) (*modulePackage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.preparing && m.has(path, nil) && m.loaded[path] == nil && m.err[path] == nil {
		m.readAll(ctx, path)
	}
	return m.load(ctx, path, nil)
}

// loadedPackage returns a package that has been imported.
func (m *modules) loadedPackage(path string) *modulePackage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded[path]
}

func (m *modules) load(ctx context.Context, path string, within []string) (*modulePackage, error) {
	if !m.has(path, within) {
		return nil, errNoModule
	}
	if err := mayImport(path, within); err != nil {
		return nil, err
	}
	if p := m.loaded[path]; p != nil {
		return p, p.failed
	}
	if err := m.err[path]; err != nil {
		return nil, err
	}
	if slices.Contains(within, path) {
		return nil, fmt.Errorf("import cycle: %s", strings.Join(append(within, path), " imports "))
	}
	before := m.unread
	p, err := m.check(ctx, path, within)
	if m.meter != nil {
		m.meter.Add(1)
	}
	if err != nil {
		if m.unread > before { // the next attempt may succeed
			return nil, err
		}
		if m.err == nil {
			m.err = map[string]error{}
		}
		m.err[path] = err
		return nil, err
	}
	if m.loaded == nil {
		m.loaded = map[string]*modulePackage{}
	}
	m.loaded[path] = p
	return p, nil
}

// mayImport refuses what is not meant for whoever imports it: the last of within, or
// a cell.
func mayImport(path string, within []string) error {
	by := ""
	if len(within) > 0 {
		by = within[len(within)-1]
	}
	elements := strings.Split(path, "/")
	if i := slices.Index(elements, "internal"); i >= 0 && !hostpkg.Interpreted(path) {
		if parent := strings.Join(elements[:i], "/"); by != parent && !strings.HasPrefix(by, parent+"/") {
			return fmt.Errorf("use of internal package %s not allowed", path)
		}
	}
	if slices.Contains(elements, "vendor") {
		return fmt.Errorf("package %s is a copy for its module alone", path)
	}
	return nil
}

// has reports whether a path is a package of a module, or one of the binary's own that
// are interpreted like those. What hides behind these is theirs alone.
func (m *modules) has(path string, within []string) bool {
	if hostpkg.Interpreted(path) {
		_, public := hostpkg.Name(path)
		return public || len(within) > 0 && hostpkg.Interpreted(within[len(within)-1])
	}
	return m.build != nil && m.build.Has(path)
}

// covers reports whether an import path is within a module of the session.
func (m *modules) covers(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.build != nil && m.build.Has(path)
}

func (m *modules) source(ctx context.Context, path string) (*gomod.Package, error) {
	if p := m.read[path]; p != nil {
		return p, nil
	}
	files, ok := hostpkg.Source(path)
	if !ok {
		p, err := m.build.Package(ctx, path)
		var refused *gomod.Refused
		if err != nil && !errors.As(err, &refused) {
			m.unread++
		}
		return p, err
	}
	p := &gomod.Package{Path: path}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p.Files = append(p.Files, gomod.File{Name: path + "/" + name, Text: files[name]})
	}
	return p, nil
}

// moduleImporter imports on behalf of a package of a module.
type moduleImporter struct {
	ctx    context.Context
	m      *modules
	within []string
	failed error // of the first import that did
}

func (i *moduleImporter) Import(path string) (*types.Package, error) {
	p, err := i.m.load(i.ctx, path, i.within)
	if errors.Is(err, errNoModule) {
		var pkg *types.Package
		if pkg, err = (importer{}).Import(path); err == nil {
			return pkg, nil
		}
	}
	if err != nil {
		i.failed = cmp.Or(i.failed, err)
		return nil, err
	}
	return p.pkg, nil
}

func (m *modules) check(ctx context.Context, path string, within []string) (*modulePackage, error) {
	source, err := m.source(ctx, path)
	if err != nil {
		return nil, err
	}
	delete(m.read, path)
	p := &modulePackage{sourcePackage: &sourcePackage{fset: newFileSet(), info: newInfo()}, module: source.Module}
	if err := p.parse(source); err != nil {
		return nil, fmt.Errorf("package %s: %w", path, err)
	}
	by := &moduleImporter{ctx: ctx, m: m, within: append(slices.Clone(within), path)}
	if err := p.checkSize(by); err != nil {
		return nil, fmt.Errorf("package %s cannot be interpreted: %w", path, err)
	}
	config := types.Config{Importer: by, Sizes: sizes, GoVersion: source.Go}
	if err := p.checkTypes(&config, path); err != nil {
		if by.failed != nil { // which says it once, not at each package on the way
			return nil, by.failed
		}
		return nil, fmt.Errorf("package %s cannot be interpreted: %w", path, err)
	}
	if p.pkg.Name() == "main" {
		return nil, fmt.Errorf("package %s is a program", path)
	}
	m.files.Lock()
	defer m.files.Unlock()
	if m.files.byName == nil {
		m.files.byName = map[string]string{}
	}
	for _, f := range source.Files {
		m.files.byName[f.Name] = f.Text
	}
	return p, nil
}

func (p *modulePackage) parse(source *gomod.Package) error {
	for _, f := range source.Files {
		file, err := parser.ParseFile(p.fset, f.Name, f.Text, parser.SkipObjectResolution)
		if err != nil {
			return err // of a scanner.ErrorList the first, and how many more
		}
		p.files = append(p.files, file)
		p.texts = append(p.texts, &text{
			source: &eval.Source{Name: f.Name, File: f.Name, Line: 1, Text: f.Text},
			starts: []fileStart{{file: p.fset.File(file.FileStart)}},
		})
	}
	return nil
}

// checkSize refuses what would keep the checker for ever, as in cells.
func (p *modulePackage) checkSize(by *moduleImporter) error {
	imported := map[string][]*types.Package{} // by name, in any file
	var nodes []ast.Node
	for _, f := range p.files {
		for _, spec := range f.Imports {
			pkg, err := by.Import(strings.Trim(spec.Path.Value, "\"`"))
			if err != nil {
				continue // the checker reports it
			}
			name := pkg.Name()
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported[name] = append(imported[name], pkg)
		}
		for _, d := range f.Decls {
			nodes = append(nodes, d)
		}
	}
	at, message := ast.Node(nil), ""
	for _, n := range nodes {
		if at == nil {
			at, message = tooDeep(n)
		}
	}
	if at == nil {
		at, message = tooMuch(nodes, func(x ast.Expr) types.Object {
			if sel, ok := x.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					for _, pkg := range imported[id.Name] {
						if obj := pkg.Scope().Lookup(sel.Sel.Name); obj != nil {
							return obj
						}
					}
				}
			}
			return nil
		})
	}
	if at != nil {
		return fmt.Errorf("%v: %s", p.fset.Position(at.Pos()), message)
	}
	return nil
}

// checkTypes keeps a fault of the checker from ending the session.
func (p *modulePackage) checkTypes(config *types.Config, path string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "panic in the type checker: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("internal error: the type checker failed: %v", r)
		}
	}()
	p.pkg, err = config.Check(path, p.fset, p.files, p.info)
	return err
}
