package pass

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
)

var scheduleRule = Rule{"reorder", true, "a node computes the same whenever its operands are ready; nodes with effects keep their order, and storage is taken after its last reader"}

// schedule puts the nodes into the order of the memory plan, if that needs fewer
// bytes than the order of the program.
func schedule(g *ir.Graph, r *report) error {
	if len(g.Nodes) == 0 {
		return nil
	}
	p, err := plan.New(g, plan.Options{})
	if err != nil {
		return err
	}
	kept, err := plan.New(g, plan.Options{KeepOrder: true})
	if err != nil {
		return err
	}
	if kept.Planned <= p.Planned {
		r.declined(&scheduleRule, g.Outputs[0], fmt.Sprintf("no order that was tried needs less memory than the %d bytes of the program's", kept.Planned))
		return nil
	}
	reportOrder(g.Nodes, p.Graph.Nodes, r, fmt.Sprintf("the planned bytes fall from %d to %d", kept.Planned, p.Planned))
	g.Nodes = p.Graph.Nodes
	return nil
}

// reportOrder says which kernels have overtaken others; the places of constants
// and views tell nothing.
func reportOrder(old, order []*ir.Node, r *report, gain string) {
	done := make(map[*ir.Node]bool)
	for _, n := range order {
		if done[n] = true; !computes(n) {
			continue
		}
		for done[old[0]] && old[0] != n || !computes(old[0]) {
			old = old[1:]
		}
		if old[0] != n {
			overtaken := old[0].Out[0]
			r.applied(&scheduleRule, n.Out[0], fmt.Sprintf("runs before %v: %s", overtaken, gain), overtaken)
		}
	}
}

func computes(n *ir.Node) bool { return n.Op.Class != ir.Constant && !n.Op.View }
