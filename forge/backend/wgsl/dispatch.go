package wgsl

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// emit prints a kernel and adds its dispatch.
func (p *Program) emit(n *ir.Node, k *loop.Kernel, places []place) error {
	if k.Nest != nil && idle(k.Nest) {
		return nil
	}
	if most := p.target.Limits.StorageBuffers; distinct(places) >= most {
		var err error
		if places, err = p.collect(n, k, places, most); err != nil {
			return err
		}
	}
	e := &emitter{kernel: k, target: p.target, uses: make(map[*loop.Expr]int)}
	e.forget()
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

// idle reports whether a nest visits nothing: not even a point whose line is empty.
func idle(n *loop.Nest) bool {
	each := !slices.ContainsFunc(n.Stages, func(st loop.Stage) bool { return st.Once || st.Reduce != loop.NoReduction })
	return product(n.Outer) == 0 || each && product(n.Line) == 0
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
	b.WriteString(operations().behind(e.String()))
	b.WriteString("\n" + e.String())
	return b.String()
}
