package forge

import (
	"fmt"
	"maps"
	"strings"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/script"
)

// Option adjusts [Parse], [Define], [Compile], [FromGraph], [FromIR] and [Open].
type Option func(*settings)

type settings struct {
	name    string
	entry   string
	shapes  []Shape // nil means the annotations
	limits  Limits
	backend string
	threads int
	library *Library
	after   string         // the pass that a graph is the outcome of; empty means none
	keeps   bool           // the tensors of a graph's constants are the program's as they are
	most    map[string]int // of open dimensions of a model, by name
}

func newSettings(opts []Option) settings {
	s := settings{name: "source", backend: DefaultBackend, threads: cpu.Cores()}
	for _, o := range opts {
		o(&s)
	}
	return s
}

func (s settings) scope() script.Scope {
	if s.library == nil {
		return nil
	}
	return s.library
}

// Named sets the name of the source in messages: "mlp.fs", "cell 3".
func Named(name string) Option { return func(s *settings) { s.name = name } }

// Entry names the function that [Compile] compiles, in place of the last.
func Entry(name string) Option { return func(s *settings) { s.entry = name } }

// Shapes gives the shapes of the inputs that [Compile] specialises for.
func Shapes(shapes ...Shape) Option { return func(s *settings) { s.shapes = shapes } }

// WithLimits replaces the limits of the source and its programs.
func WithLimits(l Limits) Option { return func(s *settings) { s.limits = l } }

// OnBackend chooses what runs the programs, one of [Backends]. The default is
// [DefaultBackend].
func OnBackend(name string) Option { return func(s *settings) { s.backend = name } }

// OnThreads says how many threads may share the work of a run, from 1 to
// [MaxThreads]. The default is the number of processors that the process may use.
// Results do not depend on it.
func OnThreads(n int) Option { return func(s *settings) { s.threads = n } }

// After names the pass that the graph of [FromGraph] or [FromIR] is the outcome
// of, so that only the passes behind it run.
func After(pass string) Option { return func(s *settings) { s.after = pass } }

// SharedConstants has [FromGraph] use the tensors of the graph's constants as they
// are, which must not change as long as the program is there, nor may a file that one
// is mapped from be closed. Programs of one tensor then hold it once, and also once
// the form of it in which their kernels read it.
func SharedConstants() Option { return func(s *settings) { s.keeps = true } }

// AtMost says how long an open dimension of a model is at most, where its file does
// not. See [Model] for what that allows.
func AtMost(dim string, length int) Option {
	return func(s *settings) {
		if s.most = maps.Clone(s.most); s.most == nil {
			s.most = make(map[string]int)
		}
		s.most[dim] = length
	}
}

// Within lets the source call the functions of a library.
func Within(l *Library) Option { return func(s *settings) { s.library = l } }

// define parses source and returns its entry function.
func define(src string, opts []Option) (Function, error) {
	s := newSettings(opts)
	fns, err := Define(src, opts...)
	if err != nil {
		return nil, err
	}
	if s.entry == "" {
		return fns[len(fns)-1], nil
	}
	for _, f := range fns {
		if f.Name() == s.entry {
			return f, nil
		}
	}
	names := make([]string, len(fns))
	for i, f := range fns {
		names[i] = f.Name()
	}
	return nil, fmt.Errorf("%s has no function %s; it has %s", s.name, s.entry, strings.Join(names, ", "))
}
