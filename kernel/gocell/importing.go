package gocell

import (
	"context"
	"go/parser"
	"go/token"
	"slices"
	"strconv"

	"forgekernel/display"
	"forgekernel/kernel/gomod"
)

// The first import of a large module takes seconds. What the cell displays then is a
// meter of the packages that are checked, and then of those that are translated.

// begin tells that a cell is being prepared, on whose behalf packages are imported
// from now on.
func (m *modules) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preparing = true
}

// end tells how that ended.
func (m *modules) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.meter == nil:
	case err != nil:
		m.meter.Fail(err)
	default:
		m.meter.Done()
	}
	m.preparing, m.meter = false, nil
}

// readAll reads a package and all that it imports from modules, which tells how
// many there are to be checked. Whatever is wrong with one, checking it reports.
func (m *modules) readAll(ctx context.Context, path string) {
	if m.read == nil {
		m.read = map[string]*gomod.Package{}
	}
	var list []string
	var visit func(path string, within []string)
	visit = func(path string, within []string) {
		if m.loaded[path] != nil || slices.Contains(list, path) || !m.has(path, within) {
			return
		}
		list = append(list, path)
		p, err := m.source(ctx, path)
		if err != nil {
			return
		}
		m.read[path] = p
		for _, imported := range imports(p) {
			visit(imported, []string{path})
		}
	}
	visit(path, nil)
	if m.meter == nil {
		m.meter = display.Progress(ctx, "", 0)
	}
	m.importing, m.translates = path, false
	m.meter.Stage("Checking "+path+" and what it imports", len(list))
}

// imports lists what a package imports, without regard to faults.
func imports(p *gomod.Package) []string {
	var list []string
	for _, f := range p.Files {
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Text, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				list = append(list, path)
			}
		}
	}
	return list
}

// translating counts a package whose translation begins. The caller holds the
// session's lock.
func (m *modules) translating() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.meter == nil:
	case m.translates:
		m.meter.Add(1)
	default:
		m.translates = true
		left := 0
		for _, p := range m.loaded {
			if p.unit == nil {
				left++
			}
		}
		m.meter.Stage("Translating "+m.importing+" and what it imports", left)
	}
}
