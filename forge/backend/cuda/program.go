package cuda

import (
	"errors"
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/plan"
)

// unit is one CUDA C file.
type unit struct {
	text  strings.Builder
	known map[string]step // the kernels, by text
}

func newUnit() *unit { return &unit{known: make(map[string]step)} }

// source is the file for an architecture.
func (u *unit) source(arch string) nvrtc.Source {
	return nvrtc.Source{Name: "program.cu", Text: prelude + u.text.String(), Arch: arch, Options: []string{"--device-int128"}}
}

// program is a graph with its memory, whose kernels are in a unit.
type program struct {
	*planned.Program
	unit    *unit
	steps   []step
	kernels []backend.Kernel
	canFail bool
	// Where each buffer begins in the memory of a run, but for constants; the inputs
	// come first, and the outputs follow one another behind the word of faults.
	offsets                    []int64
	inputs, faults, end, bytes int64
}

// step is one launch.
type step struct {
	name string
	launch
	args []planned.Place
}

func newProgram(u *unit, g *ir.Graph, maxBytes int64) (*program, error) {
	laid, err := planned.New(g, maxBytes)
	if err != nil {
		return nil, err
	}
	p := &program{Program: laid, unit: u}
	missing := &Unsupported{Graph: g.Name}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		told := backend.Kernel{Value: n.Out[0].String(), Reason: p.Idle(n)}
		if told.Reason == "" {
			if told.Reason, err = p.addNode(n); err != nil {
				missing.Reasons = append(missing.Reasons, fmt.Sprintf("%v = %s: %v", n.Out[0], n.Op.Name, err))
			}
			told.Kernel = n.Op.Name + ", CUDA C"
		}
		p.kernels = append(p.kernels, told)
	}
	if missing.Reasons != nil {
		return nil, missing
	}
	for _, i := range p.Copied {
		v := p.Graph.Outputs[i]
		if err := p.add(loop.Copy(v, p.Strides(v)), []planned.Place{p.AddOutput(i), p.Place(v)}); err != nil {
			return nil, err
		}
	}
	p.layOut()
	return p, nil
}

// addNode adds the launches of a node and says how they are made.
func (p *program) addNode(n *ir.Node) (string, error) {
	kernels, err := p.Lower(n)
	if err != nil {
		return "", err
	}
	var doc string
	locals := make(map[*loop.Local]planned.Place)
	for _, k := range kernels {
		var args []planned.Place
		for _, q := range k.Params {
			if q.Value != nil {
				args = append(args, p.Place(q.Value))
				continue
			}
			if _, known := locals[q.Local]; !known {
				locals[q.Local] = p.AddLocal(q.Local)
			}
			args = append(args, locals[q.Local])
		}
		if err := p.add(k, args); err != nil {
			return "", err
		}
		s := p.steps[len(p.steps)-1]
		doc = fmt.Sprintf("%d blocks of %d threads", s.blocks, s.threads)
	}
	if len(kernels) > 1 {
		doc = fmt.Sprintf("%d kernels; the last in %s", len(kernels), doc)
	}
	return doc, nil
}

// add prints a kernel, unless an equal one is there, and adds its launch.
func (p *program) add(k *loop.Kernel, args []planned.Place) error {
	const placeholder = "@kernel@"
	e := &emitter{kernel: k}
	var l launch
	switch {
	case k.Nest != nil:
		l = e.nest(placeholder)
	case k.Contraction != nil:
		l = e.contraction(placeholder)
	default:
		return errors.New("it has no CUDA kernel yet")
	}
	s, known := p.unit.known[e.String()]
	if !known {
		s = step{name: fmt.Sprintf("%s_%d", k.Op, len(p.unit.known)), launch: l}
		p.unit.known[e.String()] = s
		p.unit.text.WriteString("\n" + strings.ReplaceAll(e.String(), placeholder, s.name))
	}
	s.args = args
	p.steps = append(p.steps, s)
	p.canFail = p.canFail || k.CanFault()
	return nil
}

// layOut decides where buffers stand in the memory of a run.
func (p *program) layOut() {
	p.offsets = make([]int64, len(p.Buffers))
	var at int64
	put := func(i int, bytes int64) {
		p.offsets[i] = at
		at += (bytes + plan.Align - 1) / plan.Align * plan.Align
	}
	each := func(is func(b *planned.Buffer) (bytes int64, is bool)) {
		for i := range p.Buffers {
			if bytes, is := is(&p.Buffers[i]); is {
				put(i, bytes)
			}
		}
	}
	each(func(b *planned.Buffer) (int64, bool) {
		if b.Input < 0 || b.Updated && b.Result >= 0 {
			return 0, false
		}
		return p.Graph.Inputs[b.Input].Spec.Bytes(), true
	})
	// Inputs that become outputs are at the end of the inputs and the beginning of the outputs.
	p.faults = at
	at += plan.Align
	each(func(b *planned.Buffer) (int64, bool) {
		if b.Input < 0 || !b.Updated || b.Result < 0 {
			return 0, false
		}
		return p.Graph.Inputs[b.Input].Spec.Bytes(), true
	})
	p.inputs = at
	each(func(b *planned.Buffer) (int64, bool) {
		if b.Input >= 0 || b.Result < 0 {
			return 0, false
		}
		return p.Graph.Outputs[b.Result].Spec.Bytes(), true
	})
	p.end = at
	each(func(b *planned.Buffer) (int64, bool) {
		switch {
		case b.Input >= 0 || b.Result >= 0 || b.Constant != nil:
			return 0, false
		case b.Slot >= 0:
			return p.Plan.Slots[b.Slot].Bytes, true
		case b.Output != nil:
			return b.Output.Spec.Bytes(), true
		}
		return b.Scratch, true
	})
	p.bytes = at
}
