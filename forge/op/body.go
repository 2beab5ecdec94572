package op

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// bodyProgram is the program of a fused node. The vector of a value that has
// been read for the last time is used again for one of the same type, also in
// place.
func bodyProgram(c *ir.Call) (*program, error) {
	body := c.Node.Body
	p := &program{inputs: len(body.Inputs)}
	vector := make(map[*ir.Value]int)
	for i, v := range body.Inputs {
		vector[v] = i
		p.types = append(p.types, c.DType(v.Spec.DType))
	}
	last := lastReaders(body)
	free := make(map[tensor.DType][]int)
	for _, m := range body.Nodes {
		v := m.Out[0]
		dtype := c.DType(v.Spec.DType)
		if m.Op.Class == ir.Constant {
			value, err := m.Tensor("value").Convert(dtype)
			if err != nil {
				return nil, err
			}
			vector[v] = p.newVector(dtype)
			p.consts = append(p.consts, constVector{vector[v], value})
			continue
		}
		args := make([]int, len(m.In))
		for i, u := range m.In {
			args[i] = vector[u]
			computed := u.Def != nil && u.Def.Op.Class != ir.Constant
			if computed && last[u] == m && !slices.Contains(m.In[:i], u) {
				t := p.types[args[i]]
				free[t] = append(free[t], args[i])
			}
		}
		if list := free[dtype]; len(list) > 0 {
			vector[v] = list[len(list)-1]
			free[dtype] = list[:len(list)-1]
		} else {
			vector[v] = p.newVector(dtype)
		}
		p.steps = append(p.steps, newStep(m, p.types, args, vector[v]))
		p.computed = v == body.Outputs[0] || p.computed
	}
	p.result = vector[body.Outputs[0]]
	return p, nil
}

// lastReaders maps each value to the last node that reads it. An output has
// none: it is read at the end.
func lastReaders(g *ir.Graph) map[*ir.Value]*ir.Node {
	last := make(map[*ir.Value]*ir.Node)
	for _, n := range g.Nodes {
		for _, v := range n.In {
			last[v] = n
		}
	}
	for _, v := range g.Outputs {
		delete(last, v)
	}
	return last
}

func (p *program) newVector(dtype tensor.DType) int {
	p.types = append(p.types, dtype)
	return len(p.types) - 1
}
