package wgsl

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Target is what a plan is made for.
type Target struct {
	F16    bool // the device has shader-f16
	Limits Limits
}

// DefaultTarget is what every device of WebGPU is.
var DefaultTarget = Target{Limits: DefaultLimits}

// TargetOf is what a device is.
func TargetOf(d Device) Target {
	t := Target{Limits: d.Limits()}
	for _, f := range d.Features() {
		t.F16 = t.F16 || f == ShaderF16
	}
	return t
}

// Program is a graph with its plan.
type Program struct {
	*planned.Program
	Plan *Plan
	// Inputs and Outputs are the buffers of those of the graph; -1 for an input that no
	// kernel reads, and for what has no elements.
	Inputs, Outputs []int
	// Constants are the tensors of constant buffers.
	Constants map[int]*tensor.Tensor

	target  Target
	buffers map[bufferKey]int
	modules map[string]int // by source
	kernels []backend.Kernel
}

// bufferKey says which memory of the planned program a buffer is. Values of different
// forms that share a slot have buffers of their own, since a binding has one type.
type bufferKey struct {
	planned int
	elem    Elem
}

// Unsupported is the error of a graph with nodes that have no kernel.
type Unsupported struct {
	Graph   string
	Reasons []string // "%3 = add: WGSL has no f64"
}

func (u *Unsupported) Error() string {
	return fmt.Sprintf("%s cannot be a WebGPU program: %s", u.Graph, strings.Join(u.Reasons, "; "))
}

// maxBytes bounds the intermediate values of a program.
const maxBytes = 4 << 30

// NewProgram makes the plan of a graph. The error is [*Unsupported] where nodes have no
// kernel; the program then has those of the others.
func NewProgram(g *ir.Graph, t Target) (*Program, error) {
	laid, err := planned.New(g, maxBytes)
	if err != nil {
		return nil, err
	}
	p := &Program{
		Program: laid, target: t, Constants: make(map[int]*tensor.Tensor), buffers: make(map[bufferKey]int), modules: make(map[string]int),
		Plan: &Plan{Version: Version, Name: g.Name, Features: []string{}, Limits: t.Limits, Modules: []Module{}, Buffers: []Buffer{}, Dispatches: []Dispatch{}},
	}
	missing := &Unsupported{Graph: g.Name}
	if err := p.results(); err != nil {
		missing.Reasons = append(missing.Reasons, err.Error())
	}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		told, err := p.node(n)
		if err != nil {
			missing.Reasons = append(missing.Reasons, fmt.Sprintf("%v = %s: %v", n.Out[0], n.Op.Name, err))
		}
		p.kernels = append(p.kernels, told)
	}
	for _, i := range p.Copied {
		if err := p.copyOutput(i); err != nil && len(missing.Reasons) == 0 {
			missing.Reasons = append(missing.Reasons, fmt.Sprintf("%v: %v", p.Graph.Outputs[i], err))
		}
	}
	if missing.Reasons != nil {
		return p, missing
	}
	p.finish()
	return p, p.Plan.Validate()
}

// node adds the dispatches of a node, and says what they are and why.
func (p *Program) node(n *ir.Node) (backend.Kernel, error) {
	told := backend.Kernel{Value: n.Out[0].String(), Reason: p.idle(n)}
	if told.Reason != "" {
		return told, nil
	}
	first := len(p.Plan.Dispatches)
	if err := p.loops(n); err != nil {
		p.Plan.Dispatches = p.Plan.Dispatches[:first]
		return told, err
	}
	added := p.Plan.Dispatches[first:]
	if len(added) == 0 {
		told.Reason = "there is nothing to compute"
		return told, nil
	}
	told.Kernel, told.Reason = n.Op.Name+", WGSL", added[len(added)-1].String()
	if len(added) > 1 {
		told.Reason = fmt.Sprintf("%d dispatches; the last in %s", len(added), told.Reason)
	}
	return told, nil
}

// String tells the geometry, one clause.
func (d *Dispatch) String() string {
	groups := d.Groups[0] * d.Groups[1] * d.Groups[2]
	return fmt.Sprintf("%d workgroups of %d: %s", groups, d.Workgroup[0]*d.Workgroup[1]*d.Workgroup[2], d.Reason)
}

// idle says why a node needs no work; empty when it needs some.
func (p *Program) idle(n *ir.Node) string {
	if why := p.Idle(n); why != "" {
		return why
	}
	elements := 0
	for _, v := range n.Out {
		elements += v.Spec.Elements()
	}
	if elements == 0 && !n.Op.Effect {
		return "the results have no elements"
	}
	return ""
}

// loops adds the kernels of a node, one after another.
func (p *Program) loops(n *ir.Node) error {
	if n.Op.Class == ir.Transfer {
		return fmt.Errorf("a program for WebGPU has no other ranks")
	}
	kernels, err := loop.LowerWide(n, p.Strides)
	if err != nil {
		return err
	}
	if n.Op.Donates && p.Place(n.Out[0]) != p.Place(n.In[0]) {
		v := n.In[0]
		kernel := loop.Copy(v, p.Strides(v))
		kernel.Params[0].Value = n.Out[0]
		kernels = append([]*loop.Kernel{kernel}, kernels...)
	}
	locals := make(map[*loop.Local]int)
	for _, k := range kernels {
		if err := p.kernel(n, k, locals); err != nil {
			return err
		}
	}
	return nil
}

// copyOutput adds the copy of a result that stands elsewhere than in a buffer of its own.
func (p *Program) copyOutput(i int) error {
	v := p.Graph.Outputs[i]
	if v.Spec.Elements() == 0 {
		return nil
	}
	elem, err := p.target.elemOf(v.Spec.DType)
	if err != nil {
		return err
	}
	k := loop.Copy(v, p.Strides(v))
	to := place{buffer: p.Outputs[i], end: v.Spec.Elements(), elem: elem}
	from, err := p.placeOf(v)
	if err != nil {
		return err
	}
	return p.emit(nil, k, []place{to, from})
}

// kernel adds the dispatches of one kernel.
func (p *Program) kernel(n *ir.Node, k *loop.Kernel, locals map[*loop.Local]int) error {
	places := make([]place, len(k.Params))
	for i, q := range k.Params {
		var err error
		if q.Value != nil {
			places[i], err = p.placeOf(q.Value)
		} else {
			places[i], err = p.placeOfLocal(n, q.Local, locals)
		}
		if err != nil {
			return fmt.Errorf("%v is %v: %w", q, q.DType(), err)
		}
	}
	return p.emit(n, k, places)
}

// emit prints a kernel and adds its dispatch.
func (p *Program) emit(n *ir.Node, k *loop.Kernel, places []place) error {
	if k.Nest != nil && product(k.Nest.Outer) == 0 {
		return nil
	}
	if most := p.target.Limits.StorageBuffers; distinct(places) >= most {
		var err error
		if places, err = p.collect(n, k, places, most); err != nil {
			return err
		}
	}
	e := &emitter{kernel: k, target: p.target, known: make(map[*loop.Expr]string), uses: make(map[*loop.Expr]int)}
	bound, err := p.bind(e, places)
	if err != nil {
		if done, failed := p.split(n, k, places); done {
			return failed
		}
		return err
	}
	g, err := e.print()
	if err != nil {
		return err
	}
	d := Dispatch{Workgroup: g.workgroup, Storage: g.storage, Reason: g.reason, Node: "the copy of a result"}
	if n != nil {
		d.Node = fmt.Sprintf("%v = %s", n.Out[0], n.Op.Name)
	}
	x, y := p.target.grid(g.groups)
	d.Groups = [3]int{x, y, 1}
	if err := p.target.admit(&d); err != nil {
		return err
	}
	if e.faults {
		bound = append(bound, binding{array: "fault", elem: "atomic<u32>", Binding: Binding{Buffer: p.faultBuffer(), Size: 4, Write: true}})
	}
	if most := p.target.Limits.StorageBuffers; len(bound) > most {
		return fmt.Errorf("it needs %d bindings; maxStorageBuffersPerShaderStage is %d", len(bound), most)
	}
	for _, b := range bound {
		d.Bindings = append(d.Bindings, b.Binding)
	}
	d.Module = p.module(k.Op, e.module(bound))
	d.Entry = p.Plan.Modules[d.Module].Name
	p.Plan.Dispatches = append(p.Plan.Dispatches, d)
	return nil
}

// print writes the entry point of the kernel.
func (e *emitter) print() (geometry, error) {
	k := e.kernel
	switch {
	case k.Nest != nil:
		return e.nest()
	case k.Contraction != nil:
		return e.contraction()
	case k.Convolution != nil:
		return e.convolution()
	}
	return e.attention()
}

// admit checks a dispatch against the limits of a workgroup.
func (t Target) admit(d *Dispatch) error {
	if most := t.Limits.WorkgroupBytes; d.Storage > most {
		return fmt.Errorf("it needs %d bytes of workgroup memory; maxComputeWorkgroupStorageSize is %d", d.Storage, most)
	}
	if most := t.Limits.Groups; d.Groups[1] > most {
		return fmt.Errorf("it needs %d x %d workgroups; maxComputeWorkgroupsPerDimension is %d", d.Groups[0], d.Groups[1], most)
	}
	return nil
}

// module is the number of the module with a source, which is added unless it is there.
func (p *Program) module(op, source string) int {
	if i, known := p.modules[source]; known {
		return i
	}
	i := len(p.Plan.Modules)
	p.modules[source] = i
	m := Module{Name: fmt.Sprintf("%s_%d", op, i)}
	m.Source = strings.Replace(source, placeholder, m.Name, 1)
	p.Plan.Modules = append(p.Plan.Modules, m)
	return i
}

// module is the complete text of a kernel's module.
func (e *emitter) module(bound []binding) string {
	var b strings.Builder
	if slices.ContainsFunc(e.operands, func(o operand) bool { return o.elem == ElemF16 }) {
		b.WriteString("enable f16;\n\n")
	}
	for i, d := range bound {
		access := "read"
		if d.Write {
			access = "read_write"
		}
		fmt.Fprintf(&b, "@group(0) @binding(%d) var<storage, %s> %s: %s;\n", i, access, d.array, d.elem)
	}
	for _, s := range e.shared {
		b.WriteString(s + "\n")
	}
	b.WriteString(operations.behind(e.String()))
	b.WriteString("\n" + e.String())
	return b.String()
}

// Kernels tells how each node is run.
func (p *Program) Kernels() []backend.Kernel { return append([]backend.Kernel{}, p.kernels...) }
