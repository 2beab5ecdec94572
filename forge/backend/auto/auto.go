// Package auto picks a backend for each program, by the first of these rules that
// applies:
//
//  1. A program for a device other than the host's processor goes to the
//     interpreter, which runs any program.
//  2. Where the host has a GPU, a program goes there that is estimated to take at most
//     half as long as on the processor, copies of its inputs and outputs included
//     ([estimate]), unless it has bf16 and the GPU has no arithmetic for it, or a node
//     that has no kernel there.
//  3. One in which no node has a kernel of vector functions goes to the interpreter,
//     unless C has one, is worth compiling by rule 4 and can be compiled.
//  4. A program of less work than [Threshold] runs on vector functions in Go: C
//     would need a million runs to repay its compilation. Nodes that have none, such as
//     convolutions, run there by their operators' evaluation; if C has a kernel for one,
//     its work counts [ReferenceWeight] times.
//  5. So does any other when the host has no C compiler, which is told once.
//  6. Everything else starts on vector functions and goes on in C once that is
//     compiled and checked (package tiered).
//
// A program whose kernels have been tuned, and whose C can be compiled, goes by the
// last rule whatever its size: what was measured are kernels in C.
//
// [Executable.Notes] and every kernel's reason say which it was.
package auto

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Threshold is the work, in floating-point operations, from which a program is
// compiled as C: some microseconds of vector functions.
const Threshold = 200_000

// ReferenceWeight is how many times as long a floating-point operation takes in the
// evaluation of an operator as in vector functions, about: 24 to 90 for convolutions, 5 to
// 25 for products and 45 for sums of types other than f32, where vector functions do 30
// operations in a nanosecond.
const ReferenceWeight = 50

// Backend picks among others.
type Backend struct {
	interp   backend.Backend
	portable *portable.Backend
	tiered   *tiered.Backend
	// find looks for a C compiler.
	find    func() (string, error)
	device  func() (*device, error) // the GPU; nil when the host has none
	threads int
}

var _ backend.Backend = (*Backend)(nil)

// New returns the backend with those of this machine to pick from, where threads
// may share a node.
func New(threads int) *Backend {
	plain, quick := interp.New(), portable.New()
	plain.Workers, quick.Workers = threads, threads
	return &Backend{interp: plain, portable: quick, tiered: tiered.New(threads), find: cpu.FindCompiler, device: firstGPU, threads: threads}
}

// Name is "auto".
func (b *Backend) Name() string { return "auto" }

// Native is the backend that compiles to machine code.
func (b *Backend) Native() *cpu.Backend { return b.tiered.Native() }

// Compile picks a backend and compiles the program with it.
func (b *Backend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if v := elsewhere(g); v != nil {
		return b.interpreted(ctx, g, fmt.Sprintf("%v is for device %v", v, v.Spec.Device))
	}
	exe, refused, err := b.onDevice(ctx, g)
	if err != nil || exe != nil {
		return exe, err
	}
	exe, err = b.onHost(ctx, g)
	if x, ok := exe.(*Executable); ok && refused != "" {
		x.why += "; " + refused
	}
	return exe, err
}

// onHost is the part of Compile for the processor.
func (b *Backend) onHost(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	quick, err := b.portable.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	_, err = b.find()
	vectors := quick.(*portable.Executable)
	none, slow := vectors.Reference(), newSlowly(vectors.Unvectored())
	work := g.Cost().FLOPs
	small := work+(ReferenceWeight-1)*slow.work < Threshold
	switch {
	case (none != "" || small) && err == nil && b.Native().Chosen(ctx, g):
		return &Executable{b.tiered.Improve(ctx, quick, g), b.tiered, "its kernels have been tuned in C, which is compiled in the background"}, nil
	case none != "" && (small || err != nil || slow.names == ""):
		return b.interpreted(ctx, g, "no node has a kernel of vector functions: "+none)
	case small:
		return &Executable{quick, b.portable, slow.counted(work) + " would not repay compiling C"}, nil
	case err != nil:
		warning := &display.Diagnostic{Warning: true, Message: err.Error(), Notes: []string{"programs run on vector functions of Go, which are slower than C"}}
		if errors.As(err, &cpu.NoCompiler{}) {
			warning.Hint = tiered.HowToInstall
		}
		tiered.Once(ctx, warning)
		return &Executable{quick, b.portable, err.Error()}, nil
	}
	why := "it is worth compiling C, in the background"
	if work < Threshold {
		why += ", for " + slow.counted(work)
	}
	return &Executable{b.tiered.Improve(ctx, quick, g), b.tiered, why}, nil
}

// slowly is what vector functions leave to the evaluation of operators, and C does not.
type slowly struct {
	work  int64  // floating-point operations
	names string // of the operators, "conv2d and sdpa"; empty if there are none
}

func newSlowly(nodes []*ir.Node) (s slowly) {
	var names []string
	for _, n := range nodes {
		s.work += n.Cost().FLOPs
		if !slices.Contains(names, n.Op.Name) {
			names = append(names, n.Op.Name)
		}
	}
	if last := len(names) - 1; last > 0 {
		names = []string{strings.Join(names[:last], ", "), names[last]}
	}
	s.names = strings.Join(names, " and ")
	return s
}

// counted is the work of a program, and how it was counted where that is not plain.
func (s slowly) counted(work int64) string {
	text := fmt.Sprintf("its %d floating-point operations", work)
	if s.work > 0 {
		text += fmt.Sprintf(" (the %d of %s, without vector functions, count %d times)", s.work, s.names, ReferenceWeight)
	}
	return text
}

func (b *Backend) interpreted(ctx context.Context, g *ir.Graph, why string) (backend.Executable, error) {
	exe, err := b.interp.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return &Executable{exe, b.interp, why}, nil
}

// elsewhere is a value that is not in the memory of the host, nil when all are.
func elsewhere(g *ir.Graph) *ir.Value {
	for v := range g.Values {
		if v.Spec.Device != ir.CPU {
			return v
		}
	}
	return nil
}

// Executable is a program on the backend that was picked.
type Executable struct {
	backend.Executable
	pick backend.Backend
	why  string
}

// RunInto is Run with results in memory of the caller; see [backend.Into].
func (x *Executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	return backend.RunInto(ctx, x.Executable, outputs, inputs)
}

// Current is what the next run takes; see [backend.Changing].
func (x *Executable) Current() backend.Executable { return backend.Current(x.Executable) }

// Settle waits until the program runs in its final form; see [backend.Changing].
func (x *Executable) Settle(ctx context.Context) error {
	if c, ok := x.Executable.(backend.Changing); ok {
		return c.Settle(ctx)
	}
	return nil
}

// Kernels tells what runs each node, and at the first why it is this backend.
func (x *Executable) Kernels() []backend.Kernel {
	list := x.Executable.Kernels()
	if i := slices.IndexFunc(list, func(k backend.Kernel) bool { return k.Kernel != "" }); i >= 0 {
		list[i].Reason += fmt.Sprintf("; backend %s was picked: %s", x.pick.Name(), x.why)
	}
	return list
}

// Notes tell which backend was picked and why.
func (x *Executable) Notes() []string {
	note := fmt.Sprintf("Backend %s was picked: %s.", x.pick.Name(), x.why)
	return append([]string{note}, backend.Notes(x.Executable)...)
}
