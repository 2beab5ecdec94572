// Package cpu compiles graphs to machine code by way of C.
//
// Each node is lowered to a kernel by package loop. The kernels of a program are
// printed as one C file, which the host's compiler turns into a shared library
// ([Backend.Compile]); a run fills a table of pointers and calls it once. Values
// stand where package plan puts them.
//
// Constant matrices are packed at compile time in panels of one vector, all rows of
// one together: an order that tiles of every width read well, so that programs for
// one row and for many share it (package planned). Half precision stays as it is and
// is widened in registers, beside operands of f32 too.
//
// A node without a kernel runs by its operator's own evaluation, between calls of
// native code; [backend.Executable.Kernels] names each with the reason.
//
// Native code that finds an error of the run, such as an index out of range, stops
// there, and the node's own evaluation tells it. So errors read the same on every
// backend.
//
// Elementwise results equal those of the interpreter bit by bit. Sums run in
// another order, and a bias is where the sum of a contraction begins. In f64 they
// keep the order and the roundings of the reference.
//
// Contractions have three forms, see [tiling]; convolutions are cut as [windowing]
// says. Each is decided in one place, by the sizes alone.
//
// # Threads
//
// A kernel is cut into units that depend on nothing but their index: tiles of a
// contraction, points of a nest, blocks of queries. One that takes longer than
// some microseconds is done by the caller and a team of helpers, who claim chunks
// of units until none is left. The helpers serve one run at a time; another runs on
// its caller's thread alone, as one does for a while when helpers turn out to have
// no processor to themselves. Idle helpers sleep.
//
// # Schedules
//
// How a kernel is cut is a [Schedule]: the register tile and the blocks of a
// contraction, the form of a convolution, the width of the vectors, the chunks that
// threads share. The backend decides it by an estimate, unless [Backend.Choose]
// gives another one for kernels of that shape. [Backend.Steps] proposes what may be
// better, and [Backend.CompileVariants] compiles all of it to be compared; package
// tune does so.
//
// # Rates
//
// On one core of a Zen 5 machine with AVX-512, beside loops that measure the limits and
// with other load about, the best of some tens of runs: products of f32 by a packed
// matrix reach 97-101 % of the multiply-add limit from 4x256x512 to 1024x1024x1024.
// Products of one row stream their matrix at 94-105 % of the bandwidth of memory in
// f32, bf16 and f16, and bf16 by few rows of f32 takes, in units of one row, 1.0 for 2
// and 4, 1.3 for 8 and 2.4 for 16 rows, where the multiply-add limit alone would be 2.3.
//
// Ragged products whose last vector would be rather empty compute the last columns with
// lanes along k ([fold]): 7x65x33 and 64x64x10 so reach 95 and 77 %. Tiles of whole
// vectors alone had 69 and 56 %, where the empty lanes leave at most 69 and 62 %. Tried by
// hand for 64x64x10, in one run in which whole vectors had 53 % and the fold 77 %: narrower
// vectors for the last columns take as many multiply-adds, 27 %; two rows side by side in
// a vector need an element of A blended for each multiply-add, 27 %; and with rows
// across lanes, A and the results transposed in registers, it was 71 %. Interleaving two rows of
// half a vector when the matrix is packed, not when it is read, would give 80 %.
//
// One kind stays behind. Decoding attention reads keys and values at 61-69 % of the stream (48 in
// blocks of 16 rows of 128 channels); asked for further ahead, nearer ahead, in smaller
// blocks of keys, or not at all, it was no quicker.
//
// # Compiler and cache
//
// The compiler is the file that FORGE_CC names, one path without arguments, else
// cc, gcc or clang. Package objects keeps libraries, under names made from source,
// flags and compiler, and says where.
package cpu

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// Defaults of [Backend].
const (
	DefaultMaxBytes     = 4 << 30
	DefaultCompileLimit = 2 * time.Minute
)

// Backend compiles for this machine.
type Backend struct {
	Target Target
	// MaxBytes bounds the memory that intermediate values of one run may need.
	MaxBytes int64
	// CompileLimit is how long the C compiler may take.
	CompileLimit time.Duration
	// Choose gives schedules to a program, which is described by the shapes of its
	// kernels in the order in which they run. Nil leaves all to the backend.
	Choose func(ctx context.Context, program []string) Schedules
	// Threads is how many may share a kernel, the caller's among them; none do below
	// 2. Results do not depend on it.
	Threads int
	// Apart makes each kernel a native function of its own, so that an observer is told
	// of each; see [backend.WithObserver]. A call takes some hundred nanoseconds.
	Apart bool
}

var _ backend.Backend = (*Backend)(nil)

// New returns the backend for the widest vectors and all the cores of this machine.
func New() *Backend {
	return &Backend{Target: Targets()[0], MaxBytes: DefaultMaxBytes, CompileLimit: DefaultCompileLimit, Threads: Cores()}
}

// Name is "cpu".
func (b *Backend) Name() string { return "cpu" }

// Compile makes machine code for a graph.
func (b *Backend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	list, err := b.CompileAll(ctx, g)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// CompileAll makes one library for several graphs, which share equal kernels. It
// takes much less time than to compile them one by one.
func (b *Backend) CompileAll(ctx context.Context, graphs ...*ir.Graph) ([]backend.Executable, error) {
	return b.compileAll(ctx, graphs, func(_ int, program []string) Schedules { return b.choose(ctx, program) }, "")
}

func (b *Backend) choose(ctx context.Context, program []string) Schedules {
	if b.Choose == nil {
		return nil
	}
	return b.Choose(ctx, program)
}

// Chosen reports whether [Backend.Choose] has schedules for a graph.
func (b *Backend) Chosen(ctx context.Context, g *ir.Graph) bool {
	if b.Choose == nil {
		return false
	}
	p, err := b.lower(g)
	return err == nil && len(b.Choose(ctx, p.shapes())) > 0
}

// CompileVariants makes one library in which each program is the graph with other
// schedules, to be compared with one another. Kernels that threads may share are
// shared even if the graph has little work besides.
func (b *Backend) CompileVariants(ctx context.Context, g *ir.Graph, variants ...Schedules) ([]backend.Executable, error) {
	graphs := make([]*ir.Graph, len(variants))
	for i := range graphs {
		graphs[i] = g
	}
	return b.compileAll(ctx, graphs, func(i int, _ []string) Schedules { return variants[i] }, repeatCode)
}

// compileAll prints programs and what follows them.
func (b *Backend) compileAll(ctx context.Context, graphs []*ir.Graph, choose func(i int, program []string) Schedules, more string) ([]backend.Executable, error) {
	u := newUnit(b.Target)
	programs := make([]*program, len(graphs))
	for i, g := range graphs {
		p, err := b.prepare(g, func(program []string) Schedules { return choose(i, program) })
		if err != nil {
			return nil, err
		}
		p.apart = b.Apart
		u.add(p, i)
		programs[i] = p
	}
	code, worth := u.text()+more, float64(teamLeast)
	if more != "" {
		worth = 1
	}
	var lib *library
	if u.calls > 0 {
		var err error
		if lib, err = b.build(ctx, code); err != nil {
			return nil, fmt.Errorf("backend cpu: %w", err)
		}
	}
	var help *team
	if b.Threads > 1 && slices.ContainsFunc(programs, func(p *program) bool { return p.shared >= worth }) {
		var err error
		if help, err = b.team(ctx, min(b.Threads, MaxThreads)-1); err != nil {
			return nil, fmt.Errorf("backend cpu: %w", err)
		}
	}
	list := make([]backend.Executable, len(programs))
	for i, p := range programs {
		x, err := newExecutable(p, lib, code)
		if err != nil {
			lib.forget()
			return nil, fmt.Errorf("backend cpu: %w", err)
		}
		if p.shared >= worth {
			x.team = help
		}
		list[i] = x
	}
	return list, nil
}
