package wgsl

import (
	"fmt"
	"strings"

	"forgekernel/display"
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

// toldReasons is how many reasons an error tells: a graph of f64 has one for each node.
const toldReasons = 4

func (u *Unsupported) Error() string {
	told := u.Reasons
	if more := len(told) - toldReasons; more > 0 {
		told = append(told[:toldReasons:toldReasons], fmt.Sprintf("and so for %s more", display.Count(more, "node")))
	}
	return fmt.Sprintf("%s cannot be a WebGPU program: %s", u.Graph, strings.Join(told, "; "))
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
	unheld := p.results()
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
	if unheld != nil && missing.Reasons == nil { // else a node told it, or another reason
		missing.Reasons = []string{unheld.Error()}
	}
	if missing.Reasons != nil {
		return p, missing
	}
	for _, i := range p.Copied {
		if err := p.copyOutput(i); err != nil {
			missing.Reasons = []string{fmt.Sprintf("%v: %v", p.Graph.Outputs[i], err)}
			return p, missing
		}
	}
	p.require()
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
	return fmt.Sprintf("%s of %d: %s", display.Count(groups, "workgroup"), d.Workgroup[0]*d.Workgroup[1]*d.Workgroup[2], d.Reason)
}

// Sizes writes a grid without the sizes of 1 at its end: "16×4". It has no spaces, so that
// tables do not break it.
func Sizes(grid [3]int) string {
	text := fmt.Sprint(grid[0])
	for i, s := range grid[1:] {
		if s > 1 || i == 0 && grid[2] > 1 {
			text += fmt.Sprintf("×%d", s)
		}
	}
	return text
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
	for _, k := range inPasses(kernels) {
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
			return err
		}
	}
	return p.emit(n, k, places)
}

// Kernels tells how each node is run.
func (p *Program) Kernels() []backend.Kernel { return append([]backend.Kernel{}, p.kernels...) }
