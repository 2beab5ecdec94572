package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"slices"

	"forgekernel/display"
	"forgekernel/kernel/gocell/eval"
)

// Packages of modules are initialised one after the other, before a cell that uses
// them runs; cells beside it that use them wait. After an interrupt the next cell
// that uses a package initialises it anew. After a panic nothing may use its
// variables: Go would have ended the program.

// needed lists the packages that a cell uses, directly or not, and that are not
// initialised, in the order in which they are to be. The caller holds the lock.
func (s *Session) needed(c *check) []*modulePackage {
	if len(s.starting) == 0 {
		return nil
	}
	used := map[*types.Package]bool{}
	for _, obj := range c.info.Uses {
		withImports(obj.Pkg(), used)
	}
	return slices.DeleteFunc(slices.Clone(s.starting), func(p *modulePackage) bool { return !used[p.pkg] })
}

// withImports adds a package and all that it imports, directly or not.
func withImports(p *types.Package, to map[*types.Package]bool) {
	if p == nil || to[p] {
		return
	}
	to[p] = true
	for _, imported := range p.Imports() {
		withImports(imported, to)
	}
}

// initialise sees to it that packages are initialised. Its error is one of
// eval.Program.Run, or a *CompileError when a package has failed before.
func (s *Session) initialise(ctx context.Context, list []*modulePackage, cell uint64) error {
	if len(list) == 0 {
		return nil
	}
	turn := s.turn()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return &eval.Stopped{What: "waiting for the initialisation of packages"}
	}
	for _, p := range list {
		if err := s.begin(ctx, p, cell); err != nil {
			return err
		}
	}
	return nil
}

// turn holds an element while packages are initialised.
func (s *Session) turn() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialising
}

// begin initialises a package unless another cell has.
func (s *Session) begin(ctx context.Context, p *modulePackage, cell uint64) error {
	s.mu.Lock()
	waits := slices.Contains(s.starting, p)
	s.mods.mu.Lock()
	failed := p.failed
	s.mods.mu.Unlock()
	s.mu.Unlock()
	switch {
	case failed != nil:
		return &CompileError{[]display.Diagnostic{{Message: failed.Error()}}}
	case !waits:
		return nil
	}
	_, err := p.start.Run(ctx, "initialisation of "+p.pkg.Path(), cell, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	var stopped *eval.Stopped
	switch {
	case errors.As(err, &stopped):
		for _, v := range p.unit.Vars {
			v.Clear()
		}
	case err != nil:
		s.giveUp(p, err)
	default:
		s.starting = slices.DeleteFunc(s.starting, func(q *modulePackage) bool { return q == p })
	}
	return err
}

// giveUp notes that a package and those that import it are not initialised. The
// caller holds the lock.
func (s *Session) giveUp(failed *modulePackage, err error) {
	s.mods.mu.Lock()
	defer s.mods.mu.Unlock()
	s.starting = slices.DeleteFunc(s.starting, func(p *modulePackage) bool {
		used := map[*types.Package]bool{}
		if withImports(p.pkg, used); !used[failed.pkg] {
			return false
		}
		p.failed = fmt.Errorf("the initialisation of %s failed: %w; %%reset to start again", failed.pkg.Path(), runError(err))
		return true
	})
}
