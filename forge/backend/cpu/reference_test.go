package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
)

func TestReferences(t *testing.T) {
	found := make(map[string]int)
	reasons := make(map[string]string)
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		p, err := New().prepare(g)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range p.kernels {
			if !strings.HasSuffix(k.Kernel, ", reference") {
				continue
			}
			_ = i
			d := "-"
			if len(g.Inputs) > 0 {
				d = g.Inputs[0].Spec.DType.String()
			}
			key := fmt.Sprintf("%s %s", strings.TrimSuffix(k.Kernel, ", reference"), d)
			found[key]++
			reasons[key] = k.Reason
		}
	}
	for _, k := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%s x%d: %s", k, found[k], reasons[k])
	}
}
