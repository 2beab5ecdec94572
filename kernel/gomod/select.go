package gomod

import (
	"context"
	"fmt"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"forgekernel/display"
)

// maxModules bounds the modules that one request may lead to.
const maxModules = 2000

// How far the requirements of a module are followed. Since Go 1.17 a go.mod
// lists all that its packages need, so that behind one of those only the
// requirements of its requirements count.
const (
	recorded = iota // its version counts, its requirements do not
	listed          // its requirements count
	followed        // they are followed as its go.mod says
)

// Select chooses one version of each module that the roots need, directly or
// not: the highest that any of them asks for. provided reports modules that are
// there anyway and are left out.
func (f *Fetcher) Select(ctx context.Context, roots []module.Version, provided func(path string) bool) ([]module.Version, error) {
	s := &selection{f, provided, map[string]string{}, map[module.Version]int{}, display.Progress(ctx, "Looking up modules", 0)}
	for _, m := range roots {
		if err := s.visit(ctx, m, followed); err != nil {
			s.meter.Fail(err)
			return nil, err
		}
	}
	s.meter.Done()
	var list []module.Version
	for path, v := range s.chosen {
		list = append(list, module.Version{Path: path, Version: v})
	}
	slices.SortFunc(list, func(a, b module.Version) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

type selection struct {
	f        *Fetcher
	provided func(string) bool
	chosen   map[string]string
	seen     map[module.Version]int // how far, and one more
	meter    *display.Meter
}

func (s *selection) visit(ctx context.Context, m module.Version, far int) error {
	if s.seen[m] > far || s.provided(m.Path) {
		return nil
	}
	s.seen[m] = far + 1
	if len(s.seen) > maxModules {
		return fmt.Errorf("%v leads to more than %d modules", m, maxModules)
	}
	if now := s.chosen[m.Path]; now == "" || semver.Compare(m.Version, now) > 0 {
		s.chosen[m.Path] = m.Version
	}
	if far == recorded {
		return nil
	}
	s.meter.Add(1)
	file, err := s.f.parseMod(ctx, m)
	if err != nil {
		return err
	}
	next := followed
	if isPruned(file) {
		next = far - 1
	}
	for _, r := range file.Require {
		if err := module.Check(r.Mod.Path, r.Mod.Version); err != nil {
			return fmt.Errorf("%v requires %w", m, err)
		}
		if err := s.visit(ctx, r.Mod, next); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fetcher) parseMod(ctx context.Context, m module.Version) (*modfile.File, error) {
	content, err := f.Mod(ctx, m)
	if err != nil {
		return nil, err
	}
	file, err := modfile.ParseLax(m.String()+"/go.mod", content, nil)
	if err != nil {
		return nil, err
	}
	if file.Module != nil && file.Module.Mod.Path != m.Path {
		return nil, fmt.Errorf("%v: its go.mod declares its path as %s", m, file.Module.Mod.Path)
	}
	return file, nil
}

// isPruned reports whether a go.mod lists everything its packages need, as those
// of Go 1.17 and later do.
func isPruned(file *modfile.File) bool {
	return file.Go != nil && version.Compare("go"+file.Go.Version, "go1.17") >= 0
}

// GoVersion is the language version of a module, such as go1.21; modules that do
// not say have that of Go 1.16.
func (f *Fetcher) GoVersion(ctx context.Context, m module.Version) (string, error) {
	file, err := f.parseMod(ctx, m)
	if err != nil {
		return "", err
	}
	if file.Go == nil {
		return "go1.16", nil
	}
	return "go" + file.Go.Version, nil
}
