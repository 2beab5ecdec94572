package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/importer"
	"forgekernel/forge/onnx"
	"forgekernel/forge/pt2"
)

// Binding settles what the file of a model leaves open: shapes of inputs,
// lengths of named dimensions, and values of inputs that act as attributes.
type Binding = importer.Binding

// ModelInput is an input as the file of a model declares it.
type ModelInput = importer.Input

// Bound is an input of a model that became a part of a program.
type Bound = importer.Bound

// Model is a file that holds a model: ONNX, a program of torch.export (.pt2), or the
// entry function of ForgeScript. It compiles for one binding of its open sizes at a
// time and keeps the programs, the last [MaxPrograms] of them.
//
// Sizes are exact but for one case. Where a dimension has an upper bound, from the range
// of a .pt2 file or from [AtMost], and it is proved that results along it do not depend on
// one another, [Model.Run] compiles for the next power of two, repeats a row of the inputs
// and cuts the results: one program serves many lengths. [Model.Buckets] tells what was
// proved, or what stands in the way; then each length has a program of its own.
//
// A Model is safe for concurrent use.
type Model struct {
	path string
	size int64
	file modelFile
}

// modelFile is one kind of file.
type modelFile interface {
	Name() string
	Format() string
	Inputs() []ModelInput
	Outputs() []string
	Operators() map[string]int
	Close() error
	program(ctx context.Context, b Binding) (*Program, error)
	programs() *cache
}

// formats are the kinds of files that are imported, by the ends of their names.
var formats = []struct {
	suffix string
	open   func(path string, s settings) (modelFile, error)
}{
	{".onnx", func(path string, s settings) (modelFile, error) { return imported(s)(onnx.Open(path)) }},
	{".pt2", func(path string, s settings) (modelFile, error) { return imported(s)(pt2.Open(path)) }},
}

// scriptSuffix ends the names of ForgeScript files.
const scriptSuffix = ".fs"

// ModelFormats are the ends of the names of files that are imported.
func ModelFormats() []string {
	list := make([]string, len(formats))
	for i, f := range formats {
		list[i] = f.suffix
	}
	return list
}

// IsModel reports whether a file is named as one of [ModelFormats].
func IsModel(path string) bool { return slices.Contains(ModelFormats(), filepath.Ext(path)) }

// Open opens a model file. What it is, the end of its name says: one of
// [ModelFormats], or .fs for ForgeScript, of which [Entry] names the function, in place
// of the last.
func Open(path string, opts ...Option) (*Model, error) {
	open := openScript
	switch i := slices.Index(ModelFormats(), filepath.Ext(path)); {
	case i >= 0:
		open = formats[i].open
	case filepath.Ext(path) != scriptSuffix:
		return nil, fmt.Errorf("%s: what it holds, the end of its name must say: %s or %s", path, strings.Join(ModelFormats(), ", "), scriptSuffix)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	begins := looksLike(path)
	if begins != "" && filepath.Ext(path) == scriptSuffix {
		return nil, fmt.Errorf("%s begins as a %s file does: name it so", path, begins)
	}
	s := newSettings(opts)
	file, err := open(path, s)
	if err != nil {
		if begins != "" && filepath.Ext(path) != begins {
			return nil, fmt.Errorf("%w; it begins as a %s file does: name it so", err, begins)
		}
		return nil, err
	}
	m := &Model{path: path, size: info.Size(), file: file}
	for _, name := range sortedKeys(s.most) {
		if dims := m.openDims(); !slices.Contains(dims, name) || s.most[name] < 1 {
			m.Close()
			return nil, fmt.Errorf("%s: at most %d for %q: a length of 1 or more for an open dimension is needed; there are %s", path, s.most[name], name, strings.Join(dims, ", "))
		}
	}
	return m, nil
}

// looksLike is the end of the name of files that begin as one does, or "".
func looksLike(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return ""
	}
	switch {
	case string(head) == "PK\x03\x04": // a zip archive
		return ".pt2"
	case head[0] == 8 && head[1] < 32 && head[2] != 0: // ir_version, a small number, and another field
		return ".onnx"
	}
	return ""
}

// Load is [Open] for a cell: it panics with the error.
func Load(path string, opts ...Option) *Model {
	m, err := Open(path, opts...)
	if err != nil {
		panic(modelError("Load", err))
	}
	return m
}

// Name is the base name of the file.
func (m *Model) Name() string { return m.file.Name() }

// Path is where the file is.
func (m *Model) Path() string { return m.path }

// Format tells the format, its version and what wrote the file.
func (m *Model) Format() string { return m.file.Format() }

// Inputs are the inputs with their types; dimensions may be open.
func (m *Model) Inputs() []ModelInput { return m.file.Inputs() }

// Outputs names the results in order.
func (m *Model) Outputs() []string { return m.file.Outputs() }

// Close releases the file. Programs that were compiled go on working, and new
// ones cannot be compiled. It must not run beside Compile or Run.
func (m *Model) Close() error { return m.file.Close() }

// Compile compiles the model for a binding, or returns the program that was
// compiled before for equal shapes and bound values. The error is a [*CallError]
// or the cause that ended ctx.
func (m *Model) Compile(ctx context.Context, b Binding) (*Program, error) {
	meter := display.Progress(ctx, "compiling "+m.Name(), 0)
	p, err := m.file.program(ctx, b)
	if err != nil {
		meter.Fail(err)
		return nil, m.failure(ctx, err)
	}
	meter.Done()
	return p, nil
}

// Specialize is [Model.Compile] for a cell: it panics with the error.
func (m *Model) Specialize(b Binding) *Program { return cell(m.Compile(callContext(), b)) }

// Program is the program that was used last, or else the one for a file that
// leaves nothing open. It panics with a [*CallError] when there is neither.
func (m *Model) Program() *Program {
	if p := m.file.programs().recent(); p != nil {
		return p
	}
	return m.Specialize(Binding{})
}

// Buckets tells, for the lengths of a bounded dimension that were run, which program they
// run in, and why.
func (m *Model) Buckets() []string {
	if f, ok := m.file.(*importedFile); ok {
		return f.buckets.told()
	}
	return nil
}

// Cache counts what calls have compiled and found compiled.
func (m *Model) Cache() CacheStats { return m.file.programs().counts() }

// IR is [Program.IR] of [Model.Program], as all the following methods are.
func (m *Model) IR() display.Source { return m.Program().IR() }

// Graph is the optimised program as a drawing.
func (m *Model) Graph() display.Graph { return m.Program().Graph() }

// Explain gathers what the compiler decided.
func (m *Model) Explain() *Explanation { return m.Program().Explain() }

// Plan is where intermediate values stand in memory, and when.
func (m *Model) Plan() *MemoryPlan { return m.Program().Plan() }

// Snapshots are the program as imported and after each pass.
func (m *Model) Snapshots() Snapshots { return m.Program().Snapshots() }

// Summary is the program at a glance.
func (m *Model) Summary() display.Table { return m.Program().Summary() }

// Check compares the results for random inputs with float64; see [Program.Check].
func (m *Model) Check() *Accuracy { return m.Program().Check() }

// Bench times runs on random inputs; see [Program.Bench].
func (m *Model) Bench() *Benchmark { return m.Program().Bench() }

// Profile times the nodes on random inputs; see [Program.Profile].
func (m *Model) Profile() *Profile { return m.Program().Profile() }

// failure is an error of the model for a person, or the cause that ended ctx.
func (m *Model) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return modelError(m.Name(), err)
}

// modelError is an error with what to write instead, as a cell shows it. Problems of
// ForgeScript are shown as they are.
func modelError(function string, err error) error {
	var call *CallError
	var script Errors
	if errors.As(err, &call) || errors.As(err, &script) {
		return err
	}
	lines := strings.Split(err.Error(), "\n")
	d := diagnostic(lines[0], bindingHint(err))
	for _, line := range lines[1:] {
		d.Notes = append(d.Notes, strings.TrimSpace(line))
	}
	return &CallError{Function: function, Diagnostic: d, cause: err}
}

// bindingHint says how to settle what a binding leaves open.
func bindingHint(err error) string {
	var open *importer.OpenError
	var need interface{ Needs() string }
	switch {
	case errors.As(err, &open):
		var parts []string
		if names := open.Symbols(); names != nil {
			parts = append(parts, fmt.Sprintf("Dims: map[string]int{%q: 1}", names[0]))
		}
		if inputs := open.Unnamed(); inputs != nil {
			parts = append(parts, fmt.Sprintf("Shapes: map[string][]int{%q: {1, …}}", inputs[0].Name))
		}
		return "bind it, as in m.Specialize(forge.Binding{" + strings.Join(parts, ", ") + "}), or run the model on tensors"
	case errors.As(err, &need) && need.Needs() != "":
		return fmt.Sprintf("give its value, as in m.Specialize(forge.Binding{Values: map[string]*forge.Tensor{%q: …}}), or run the model on tensors", need.Needs())
	}
	return ""
}
