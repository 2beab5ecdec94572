package cuda

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
)

// driverVersion is that of the driver, which was opened before.
var driverVersion = sync.OnceValue(func() string {
	lib, err := driver.Open()
	if err != nil {
		return err.Error()
	}
	return lib.Version.String()
})

// Machine describes the device and the compiler.
func (b *Backend) Machine() tuning.Machine {
	return tuning.Machine{Device: b.Context.Name, Arch: b.Context.Capability.Arch(), Driver: driverVersion(), Compiler: b.Compiler.Version}
}

// shapeOf names what the choice of a node's kernel depends on: the operator, the types,
// sizes and steps of its operands, which of them are aligned, and what a fused region
// computes.
func shapeOf(p *planned.Program, n *ir.Node) string {
	var b strings.Builder
	b.WriteString(n.Op.Name)
	for _, v := range slices.Concat(n.In, n.Out) {
		fmt.Fprintf(&b, " %v", v.Spec)
		if l := (ir.Layout{Strides: p.Strides(v)}); !l.Contiguous(v.Spec.Shape) {
			fmt.Fprintf(&b, "/%v", p.Strides(v))
		}
		if !aligned(p.Place(v)) {
			b.WriteString("+")
		}
	}
	b.WriteString(n.Attrs.Text())
	if n.Body != nil {
		sum := sha256.Sum256([]byte(n.Body.String()))
		fmt.Fprintf(&b, " %x", sum[:4])
	}
	return b.String()
}

// shapes are those of the nodes that need work, by the names of their results and in
// order.
func shapes(p *planned.Program) (list []string, of map[string]string) {
	of = make(map[string]string)
	for _, n := range p.Graph.Nodes {
		if n.Op.Class != ir.Constant && p.Idle(n) == "" {
			shape := shapeOf(p, n)
			list, of[n.Out[0].Name] = append(list, shape), shape
		}
	}
	return list, of
}

// selector is that of the backend, else that of the program's record, if there is one.
func (b *Backend) selector(u *unit, g *ir.Graph) (Selector, error) {
	if b.Select != nil || b.Choose == nil {
		return b.Select, nil
	}
	p, err := planned.New(g, b.MaxBytes)
	if err != nil {
		return nil, err
	}
	list, of := shapes(p)
	r := b.Choose(b.Machine(), list)
	if r == nil {
		return nil, nil
	}
	return b.picks(u, r, of), nil
}

// picks selects what a record says. Libraries and Triton are asked only if the record
// picks something of theirs, and Triton must be of the version that was measured.
func (b *Backend) picks(u *unit, r *tuning.Record, of map[string]string) Selector {
	nodes := make(map[string]*tuning.Node)
	wantsTriton, wantsLibrary := false, false
	for i := range r.Nodes {
		n := &r.Nodes[i]
		nodes[n.Shape] = n
		name := n.Candidates[n.Pick()].Name
		wantsTriton = wantsTriton || strings.HasPrefix(name, tritonPrefix)
		wantsLibrary = wantsLibrary || strings.HasPrefix(name, libraryPrefix)
	}
	if wantsLibrary {
		u.offer(byLibrary(b.Context))
	}
	other := ""
	if wantsTriton && b.Triton != nil {
		switch c, err := b.Triton(); {
		case err != nil:
			other = err.Error()
		case c.Version != r.Machine.Triton:
			other = fmt.Sprintf("Triton is %s, and %s was measured", c.Version, r.Machine.Triton)
		default:
			u.offerTriton(b.Triton)
		}
	}
	return func(n *ir.Node, list []Candidate) (int, string) {
		m := nodes[of[n.Out[0].Name]]
		if m == nil {
			return 0, ""
		}
		name := m.Candidates[m.Pick()].Name
		i := slices.IndexFunc(list, func(c Candidate) bool { return c.Name == name })
		switch {
		case i >= 0:
			return i, m.Reason()
		case strings.HasPrefix(name, tritonPrefix) && other != "":
			return 0, fmt.Sprintf("not %s, which was measured best: %s", name, other)
		}
		return 0, fmt.Sprintf("not %s, which was measured best and is no longer a candidate", name)
	}
}
