package cpu

import (
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// program is a graph with its memory and the kernel of each step.
type program struct {
	*planned.Program
	steps   []step
	kernels []backend.Kernel
	index   int // of the program within its unit
}

// step is a kernel, or a node that runs by its operator's evaluation. The steps
// from one reference node to the next are one native function.
type step struct {
	node   *ir.Node
	kernel *loop.Kernel
	args   []argument // of the kernel's parameters
	packed int        // the parameter that is packed; -1 for none
}

// argument is a place in a buffer; buffer -1 is no memory at all.
type argument = planned.Place

// prepare plans a graph and lowers its nodes.
func (b *Backend) prepare(g *ir.Graph) (*program, error) {
	laid, err := planned.New(g, b.MaxBytes)
	if err != nil {
		return nil, err
	}
	p := &program{Program: laid}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class != ir.Constant {
			p.addNode(b.Target, n)
		}
	}
	return p, nil
}

// addNode adds the step of a node, if it needs one, and tells what runs it.
func (p *program) addNode(t Target, n *ir.Node) {
	told := backend.Kernel{Value: n.Out[0].String()}
	defer func() { p.kernels = append(p.kernels, told) }()
	if told.Reason = p.Idle(n); told.Reason != "" {
		return
	}
	k, err := loop.Lower(n, p.Strides)
	if err != nil {
		told.Kernel, told.Reason = n.Op.Name+", reference", err.Error()
		p.steps = append(p.steps, step{node: n})
		return
	}
	s := step{node: n, kernel: k, packed: -1}
	for _, q := range k.Params {
		s.args = append(s.args, p.Place(q.Value))
	}
	told.Kernel = fmt.Sprintf("%s, C for %s", n.Op.Name, t.Name)
	switch c := k.Contraction; {
	case c != nil:
		if at, ok := p.PackMatrix(k, t.widths(c)); ok {
			s.packed = c.B.Param
			s.args[s.packed] = at
		}
		told.Reason = describeTiles(t.tileFor(c), s.packed >= 0)
	case k.Attention != nil:
		told.Reason = fmt.Sprintf("%d queries at a time, their scores side by side in vectors", t.Lanes)
	default:
		told.Reason = "one nest of loops, in vectors"
	}
	p.steps = append(p.steps, s)
}

func describeTiles(cut tiling, packed bool) string {
	where := "read where the second operand stands"
	if packed {
		where = "packed at compile time"
	}
	if len(cut.rows) == 0 || len(cut.panels) == 0 {
		return where
	}
	return fmt.Sprintf("tiles of %d rows by %d vectors in registers, the matrix %s", cut.rows[0], cut.panels[0], where)
}
