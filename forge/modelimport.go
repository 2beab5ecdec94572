package forge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"forgekernel/display"
	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
)

// importedFile is a model that an importer reads.
//
// Which inputs become a part of a program, importing it tells. The cache keys of
// programs therefore hold the shapes of all inputs and the values of those that
// have become a part of any program so far; programs with equal keys are equal.
type importedFile struct {
	importer.Model
	settings
	kept    cache
	buckets buckets

	mu     sync.Mutex
	acting []string // inputs that have acted as attributes, in order of the first time
}

// imported is what an importer opened, as a modelFile.
func imported(s settings) func(importer.Model, error) (modelFile, error) {
	return func(m importer.Model, err error) (modelFile, error) {
		if err != nil {
			return nil, err
		}
		return &importedFile{Model: m, settings: s}, nil
	}
}

func (f *importedFile) programs() *cache { return &f.kept }

// errCoarse says that a program depends on more than its key.
var errCoarse = errors.New("the program depends on more inputs than its key")

func (f *importedFile) program(ctx context.Context, b Binding) (*Program, error) {
	shapes, err := b.Resolve(f.Inputs())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for ready := (*importer.Program)(nil); ; {
		acting := f.actingInputs()
		key := fmt.Sprint(f.backend, f.threads, shapes, digests(acting, b))
		p, err := f.kept.get(ctx, key, func(*Program) bool { return true }, func(ctx context.Context) (*Program, error) {
			if ready == nil {
				if ready, err = f.Graph(ctx, b); err != nil {
					return nil, err
				}
			}
			if f.learn(ready.Bound, acting) {
				return nil, errCoarse
			}
			return f.build(ctx, ready)
		})
		if !errors.Is(err, errCoarse) {
			return p, err
		}
	}
}

func (f *importedFile) actingInputs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.acting)
}

// learn notes the inputs that a program holds, and reports whether any of them is
// not among those of its key.
func (f *importedFile) learn(bound []Bound, key []string) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range bound {
		more = more || !slices.Contains(key, b.Input)
		if !slices.Contains(f.acting, b.Input) {
			f.acting = append(f.acting, b.Input)
		}
	}
	return more
}

// digests stand for the values of inputs in a key.
func digests(inputs []string, b Binding) []string {
	list := make([]string, len(inputs))
	for i, name := range inputs {
		if t := b.Values[name]; t != nil {
			list[i] = fmt.Sprintf("%s=%v%v:%x", name, t.DType(), t.Shape(), sha256.Sum256(t.Encode()))
		}
	}
	return list
}

// build makes a program of an imported graph, which it keeps.
func (f *importedFile) build(ctx context.Context, p *importer.Program) (*Program, error) {
	g := ownCopy(p.Graph)
	return build(ctx, modelOrigin{file: f.Name(), program: p, graph: g}, g, f.settings, pass.Options{})
}

// modelOrigin is a model file for one binding.
type modelOrigin struct {
	file    string
	program *importer.Program
	graph   *ir.Graph
}

func (o modelOrigin) programName() string { return o.graph.Name }

func (o modelOrigin) source() display.Source {
	return display.Source{Lang: "ir", Code: o.graph.Listing(), Name: o.file}
}

func (o modelOrigin) specs(args []*Tensor) ([]Spec, error) {
	return graphOrigin{o.graph, o.file}.specs(args)
}

func (o modelOrigin) callError(ctx context.Context, err error, specs []Spec) error {
	return graphOrigin{o.graph, o.file}.callError(ctx, err, specs)
}

// notes are what a reader of the program should know, bound inputs first.
func (o modelOrigin) notes() []string {
	var list []string
	for _, b := range o.program.Bound {
		list = append(list, fmt.Sprintf("input %s is a part of the program, with the value %s: %s", b.Input, brief(b.Value), b.For))
	}
	return append(list, o.program.Notes...)
}

// maxBrief is the number of elements that a note shows.
const maxBrief = 8

// brief is a small tensor in a line.
func brief(t *Tensor) string {
	if t.Rank() == 0 {
		return fmt.Sprint(t.Item())
	}
	values := t.Values()
	more := ""
	if len(values) > maxBrief {
		values, more = values[:maxBrief], fmt.Sprintf(" … (%d)", t.Len())
	}
	return "[" + strings.Trim(fmt.Sprint(values), "[]") + more + "]"
}

// Bound are the inputs of the model that are a part of this program.
func (p *Program) Bound() []Bound {
	if o, ok := p.origin.(modelOrigin); ok {
		return slices.Clone(o.program.Bound)
	}
	return nil
}
