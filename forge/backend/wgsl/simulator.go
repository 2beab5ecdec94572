package wgsl

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"forgekernel/forge/backend/wgsl/shader"
)

// Simulator is a device that runs the text of shaders on the host, and ends at what a GPU
// would pass over: an index out of bounds, two invocations that meet in memory without a
// barrier, a barrier that not all of them reach. Use [NewSimulator].
type Simulator struct {
	// F16 says that it has shader-f16.
	F16 bool
	// Reals says that its compiler takes f32 for real numbers, as GPUs' may
	// ([shader.ParseReals]).
	Reals bool

	mu      sync.Mutex
	modules map[string]*shader.Module // by source
}

// maxParsed bounds the modules that a simulator keeps.
const maxParsed = 1024

var _ Device = (*Simulator)(nil)

// NewSimulator returns a device with the default limits of WebGPU.
func NewSimulator() *Simulator { return &Simulator{modules: make(map[string]*shader.Module)} }

// Adapter says that it is a simulation.
func (s *Simulator) Adapter() string { return "a simulation of a GPU on the host" }

// Features is shader-f16 or nothing.
func (s *Simulator) Features() []string {
	if s.F16 {
		return []string{ShaderF16}
	}
	return nil
}

// Limits are the default ones.
func (s *Simulator) Limits() Limits { return DefaultLimits }

// module is a source as it runs.
func (s *Simulator) module(m *Module) (*shader.Module, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parsed := s.modules[m.Source]; parsed != nil {
		return parsed, nil
	}
	parse := shader.Parse
	if s.Reals {
		parse = shader.ParseReals
	}
	parsed, err := parse(m.Source)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", m.Name, err)
	}
	if len(s.modules) >= maxParsed {
		clear(s.modules)
	}
	s.modules[m.Source] = parsed
	return parsed, nil
}

// Run runs the dispatches of a plan.
func (s *Simulator) Run(ctx context.Context, p *Plan, m Memory) error {
	if err := m.Check(p); err != nil {
		return err
	}
	if err := s.admit(p); err != nil {
		return err
	}
	all := append(Memory{}, m...)
	for i, b := range p.Buffers {
		if all[i] == nil {
			all[i] = make([]byte, b.Bytes)
		}
	}
	for i := range p.Dispatches {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.dispatch(ctx, p, &p.Dispatches[i], all); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%s: dispatch %d, %s: %w", p.Name, i, p.Dispatches[i].Node, err)
		}
	}
	return nil
}

// admit refuses a plan that needs what the device does not have, as others do.
func (s *Simulator) admit(p *Plan) error {
	for _, f := range p.Features {
		if !slices.Contains(s.Features(), f) {
			return fmt.Errorf("%s has no %s, which %s needs", s.Adapter(), f, p.Name)
		}
	}
	have := s.Limits().list()
	for i, need := range p.Limits.list() {
		if need.value > have[i].value {
			return fmt.Errorf("%s has a %s of %d, and %s needs %d", s.Adapter(), need.name, have[i].value, p.Name, need.value)
		}
	}
	if need, have := p.Limits.OffsetAlignment, s.Limits().OffsetAlignment; need < have {
		return fmt.Errorf("%s has a minStorageBufferOffsetAlignment of %d, and %s needs %d", s.Adapter(), have, p.Name, need)
	}
	return nil
}

func (s *Simulator) dispatch(ctx context.Context, p *Plan, d *Dispatch, m Memory) error {
	module, err := s.module(&p.Modules[d.Module])
	if err != nil {
		return err
	}
	call := shader.Call{Entry: d.Entry, Bindings: make(map[shader.Binding][]byte), Limits: p.Limits.simulated()}
	for i, g := range d.Groups {
		call.Groups[i] = uint32(g)
	}
	writes := module.Writes(d.Entry)
	for i, b := range d.Bindings {
		at := shader.Binding{Binding: uint32(i)}
		if does, known := writes[at]; known && does != b.Write {
			return fmt.Errorf("binding %d: the plan and module %s do not agree on whether %q is written", i, p.Modules[d.Module].Name, p.Buffers[b.Buffer].Name)
		}
		call.Bindings[at] = m[b.Buffer][b.Offset : b.Offset+b.Size]
	}
	return module.Dispatch(ctx, call)
}

// simulated are the limits of a dispatch.
func (l Limits) simulated() shader.Limits {
	return shader.Limits{
		Invocations: uint32(l.Invocations), InvocationsX: uint32(l.WorkgroupX), InvocationsY: uint32(l.WorkgroupY), InvocationsZ: uint32(l.WorkgroupZ),
		WorkgroupBytes: uint32(l.WorkgroupBytes), Workgroups: uint32(l.Groups), StorageBuffers: uint32(l.StorageBuffers), StorageBytes: uint64(l.BindingBytes),
	}
}
