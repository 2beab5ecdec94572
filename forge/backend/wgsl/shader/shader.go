// Package shader runs compute shaders in WGSL, from their text, on the host.
//
// Parse checks a module as a WebGPU implementation would; Dispatch runs an
// entry point over buffers, workgroup by workgroup. The invocations of a
// workgroup run together: each operation is done for all of them before the
// next, under a mask of those that took the branch, so that the cost of
// interpreting is paid once for a workgroup, not once for an invocation.
//
// A dispatch is also a proof reader. It ends with an *Error that names the
// place in the text, the workgroup and the invocation when an index is out of
// its array's bounds, when two invocations touch one scalar of workgroup or
// storage memory without a barrier between and one of them writes, when not
// all invocations reach a barrier, and when a workgroup takes too long. What
// WGSL defines is done as defined: integers wrap, integer division by zero
// gives the dividend, workgroup memory begins as zeros, f32 arithmetic is that
// of IEEE 754 with every operation rounded by itself.
//
// Of the language it knows all that compute shaders over buffers use; textures,
// samplers, subgroups and the other pipeline stages are refused by name.
package shader

import (
	"context"
	"fmt"
	"sync"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// Module is a checked module. It may be dispatched by many goroutines at once.
type Module struct {
	module *check.Module
	reals  bool

	mu       sync.Mutex
	programs map[string]*program
}

// ParseReals is Parse for a compiler that takes f32 for real numbers, as those of GPUs do
// where WGSL lets them: sums and products are multiplied out, and where terms cancel or are
// multiples of others what is left is computed instead; a product is joined with the sum that it
// goes into, sums are regrouped, a quotient is a product with the reciprocal. It goes
// through lets, parameters and results of functions, and not through variables.
func ParseReals(src string) (*Module, error) {
	m, err := Parse(src)
	if err != nil {
		return nil, err
	}
	m.reals = true
	return m, nil
}

// Parse reads and checks a module. An error is a *syntax.Error with line and
// column.
func Parse(src string) (*Module, error) {
	tree, err := syntax.Parse(src)
	if err != nil {
		return nil, err
	}
	m, err := check.Check(tree)
	if err != nil {
		return nil, err
	}
	return &Module{module: m, programs: map[string]*program{}}, nil
}

// maxPrograms bounds the sets of overrides and limits whose code is kept.
const maxPrograms = 64

// Binding is the place of a buffer: @group and @binding.
type Binding struct{ Group, Binding uint32 }

// Call is one dispatch.
type Call struct {
	Entry  string // may be empty where the module has one entry point
	Groups [3]uint32
	// Bindings are the buffers of the entry point, each of them and no other.
	// Those that the shader may write are changed in place, also by a dispatch
	// that fails.
	Bindings map[Binding][]byte
	// Overrides are by name, or by number for those with @id; truth values are
	// 0 and 1.
	Overrides map[string]float64
	Limits    Limits
}

// Refusal is a call that does not fit its module or a limit.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// catch turns the panics of this package's own errors into errors.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	case *syntax.Error:
		*err = r
	case cancelled:
		*err = r.err
	default:
		panic(r)
	}
}

// Dispatch runs an entry point. It gives an *Error for a fault of the shader, a
// *Refusal for a call that does not fit, a *syntax.Error for what is wrong in
// the text with these overrides, or the context's error.
func (m *Module) Dispatch(ctx context.Context, call Call) error {
	_, err := m.dispatch(ctx, call)
	return err
}

// dispatch gives the invocation-instructions that it took, too.
func (m *Module) dispatch(ctx context.Context, call Call) (work int64, err error) {
	limits := call.Limits.defaults()
	p, err := m.program(call, limits)
	if err != nil {
		return 0, err
	}
	for i, n := range call.Groups {
		if n > limits.Workgroups {
			return 0, refuse("%d workgroups in dimension %d, the limit is %d", n, i, limits.Workgroups)
		}
	}
	buffers, err := p.bind(call.Bindings, limits)
	if err != nil {
		return 0, err
	}
	mc := p.machine()
	mc.ctx, mc.limit, mc.clock, mc.buffers = ctx, limits.Work, clock{groups: call.Groups}, buffers
	defer func() { mc.ctx, mc.buffers = nil, nil; p.machines.Put(mc) }()
	mc.begin()
	defer catch(&err)
	for z := range call.Groups[2] {
		for y := range call.Groups[1] {
			for x := range call.Groups[0] {
				mc.workgroup([3]uint32{x, y, z})
				work += mc.work
			}
		}
	}
	return work, nil
}

// Writes tells of each buffer of an entry point whether the shader may write it. There
// are none where the module has no such entry point.
func (m *Module) Writes(entry string) map[Binding]bool {
	f := m.module.Entry(entry)
	if f == nil {
		return nil
	}
	writes := make(map[Binding]bool)
	for _, v := range m.module.Reaches(f) {
		if v.Space == check.Storage || v.Space == check.Uniform {
			writes[Binding{v.Group, v.Binding}] = v.Access == check.ReadWrite
		}
	}
	return writes
}

// program finds or builds the code of a call.
func (m *Module) program(call Call, limits Limits) (*program, error) {
	entry := m.module.Entry(call.Entry)
	if entry == nil {
		return nil, refuse("the module has no entry point '%s' (an empty name stands for the only one)", call.Entry)
	}
	overrides, key, err := m.overrides(call.Overrides)
	if err != nil {
		return nil, err
	}
	key += fmt.Sprint(entry.Name, limits)
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.programs[key]; p != nil {
		return p, nil
	}
	p, err := build(m.module, entry, overrides, limits, m.reals)
	if err != nil {
		return nil, err
	}
	if len(m.programs) >= maxPrograms {
		clear(m.programs)
	}
	m.programs[key] = p
	return p, nil
}

// machine is one that no dispatch uses.
func (p *program) machine() *machine {
	if m, ok := p.machines.Get().(*machine); ok {
		return m
	}
	return &machine{program: p, lanes: p.lanes, regs: make([]uint32, p.words), saved: make([]mask, p.masks),
		identity: make([]int32, p.lanes), shared: make([]uint32, p.sharedWords), tracks: make([]track, p.sharedWords)}
}

// begin sets what is the same for all workgroups.
func (m *machine) begin() {
	p := m.program
	for _, s := range p.presets {
		m.regs[s.reg.off] = s.word
	}
	for lane := range m.identity {
		m.identity[lane] = int32(lane)
		for i, w := range p.local(lane) {
			m.regs[int(p.ids[i].off)+lane] = w
		}
		m.regs[int(p.localIndex.off)+lane] = uint32(lane)
	}
	for i, v := range p.buffers {
		m.regs[p.lengths[i].off] = length(v.Type, len(m.buffers[i].data))
	}
	for i, n := range m.clock.groups {
		m.regs[p.groups[i].off] = n
	}
}

// workgroup runs one workgroup.
func (m *machine) workgroup(id [3]uint32) {
	p := m.program
	m.check()
	m.group, m.work = id, 0
	all := allLanes(m.lanes)
	m.set(&all)
	for i := range 3 {
		m.regs[p.groupID[i].off] = id[i]
		ids, global := m.wide(p.ids[i]), m.wide(p.globalID[i])
		for lane := range global {
			global[lane] = id[i]*p.size[i] + ids[lane]
		}
	}
	clear(m.shared)
	m.barrier()
	m.startStorage()
	p.code.run(m)
}
