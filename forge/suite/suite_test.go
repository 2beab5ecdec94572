package suite

import (
	"testing"

	"forgekernel/forge/ir"
)

func TestBuild(t *testing.T) {
	for _, m := range models {
		g, err := Build(m.Name)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		var parameters int64
		for _, n := range g.Nodes {
			if n.Op.Class == ir.Constant {
				parameters += int64(n.Out[0].Spec.Elements())
			}
		}
		if parameters != m.Parameters {
			t.Errorf("%s has %d parameters, its entry says %d", m.Name, parameters, m.Parameters)
		}
	}
}
