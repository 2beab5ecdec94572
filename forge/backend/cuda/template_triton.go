package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/backend/triton/compile"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// tritonPrefix begins the names of candidates that Triton compiles.
const tritonPrefix = tuning.TritonPrefix

// machine is machine code of a piece that another compiler than NVRTC makes. It is
// loaded by itself, beside the program's.
type machine struct {
	job  compile.Job
	made compile.Binary // empty until [unit.compileTriton]
}

// openTriton finds Triton once for the process.
var openTriton = sync.OnceValues(func() (*compile.Compiler, error) { return compile.Open(context.Background()) })

// offer adds ways to run nodes.
func (u *unit) offer(t template) { u.beside = append(u.beside, t) }

// offerTriton adds the kernels of Triton; nil for none.
func (u *unit) offerTriton(open func() (*compile.Compiler, error)) {
	if u.triton = open; open != nil {
		u.offer((*program).tritonChoices)
	}
}

// tritonChoices is the template of kernels of Triton.
func (p *program) tritonChoices(n *ir.Node) (list []choice, why string) {
	if _, err := p.unit.triton(); err != nil {
		return nil, err.Error()
	}
	if why := tritonTypes(p.unit.target, n); why != "" {
		return nil, why
	}
	kernels, err := p.Lower(n)
	if err != nil {
		return nil, "Triton: " + err.Error()
	}
	var written []*triton.Kernel
	most := 1
	for _, k := range kernels {
		t, err := triton.Emit(k, n)
		if err == nil && ownMemory(k) {
			err = errors.New("its kernels share memory of their own")
		}
		if err != nil {
			return nil, "Triton: " + err.Error()
		}
		written = append(written, t)
		most = max(most, len(t.Candidates))
	}
	for i := range most {
		var c choice
		for j, t := range written {
			at := min(i, len(t.Candidates)-1)
			c.name = tritonPrefix + t.Candidates[at].String()
			c.pieces = append(c.pieces, p.tritonPiece(kernels[j], t, at))
		}
		c.reason = "written for Triton"
		list = append(list, c)
	}
	return list, ""
}

// tritonTypes says why a device has no kernels of Triton for the types of a node.
func tritonTypes(t target, n *ir.Node) string {
	for _, v := range append(append([]*ir.Value{}, n.In...), n.Out...) {
		if v.Spec.DType.String() == "bf16" && t.capability < 80 {
			return fmt.Sprintf("Triton: bf16 needs sm_80, and this is %s", t.capability.Arch())
		}
	}
	return ""
}

func ownMemory(k *loop.Kernel) bool {
	for _, q := range k.Params {
		if q.Value == nil {
			return true
		}
	}
	return false
}

func (p *program) tritonPiece(k *loop.Kernel, t *triton.Kernel, candidate int) piece {
	job := compile.Job{Kernel: t, Candidate: candidate}
	for _, q := range k.Params {
		job.Aligned = append(job.Aligned, aligned(p.Place(q.Value)))
	}
	grid := t.Candidates[candidate].Grid
	return piece{
		args: p.places(k), canFault: t.Faults, machine: &machine{job: job},
		launch: launch{grid: [3]uint32{uint32(grid[0]), uint32(grid[1]), uint32(grid[2])}},
	}
}

// compileTriton has Triton compile the steps of programs that are its own, all at once.
// The errors are those of the programs, by index: a kernel that was picked and cannot be
// compiled is one.
func (u *unit) compileTriton(ctx context.Context, programs ...*program) ([]error, error) {
	var jobs []compile.Job
	for _, p := range programs {
		for _, s := range p.steps {
			if s.machine != nil {
				jobs = append(jobs, s.machine.job)
			}
		}
	}
	errs := make([]error, len(programs))
	if jobs == nil {
		return errs, nil
	}
	c, err := u.triton()
	if err != nil {
		return nil, err
	}
	made, err := c.Compile(ctx, jobs, int(u.target.capability))
	if err != nil {
		return nil, err
	}
	for i, p := range programs {
		for j := range p.steps {
			if s := &p.steps[j]; s.machine != nil {
				errs[i] = errors.Join(errs[i], s.take(made[0], u.target.shared))
				made = made[1:]
			}
		}
	}
	return errs, nil
}

// take is what Triton made of a step, of whose blocks each may have so many bytes of
// shared memory.
func (s *step) take(b compile.Binary, shared int) error {
	switch {
	case b.Error != "":
		return fmt.Errorf("%v: Triton refuses its kernel: %s", s, b.Error)
	case b.Shared > shared:
		return fmt.Errorf("%v: its kernel of Triton wants %d KiB of shared memory, and a block of the device may have %d", s, b.Shared>>10, shared>>10)
	}
	s.machine.made = b
	s.threads, s.launch.shared = [3]uint32{uint32(b.Warps) * 32, 1, 1}, b.Shared
	return nil
}

// arguments are the words of the parameters behind the addresses.
func (b *machine) arguments(words []uint64, fault, step uint64) []uint64 {
	if b.job.Kernel.Faults {
		words = append(words, fault, step)
	}
	return append(words, 0, 0) // of scratch memory, which no kernel has
}

// load gives the device the code of a step and finds its function.
func (b *machine) load(c *driver.Context) (*driver.Module, *driver.Function, error) {
	m, err := c.Load(b.made.Cubin)
	if err != nil {
		return nil, nil, err
	}
	f, err := m.Function(b.made.Name)
	return m, f, err
}
