package wgsl_test

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
)

// mutations are mistakes in what is printed, which the simulation has to find: a wrong
// index, a missing barrier, a wrong bound.
var mutations = []struct{ golden, right, wrong, found string }{
	{"rows", "    workgroupBarrier();\n    if", "    if", "race: this invocation reads 'all_f32'"},
	{"rows", "  workgroupBarrier();\n  all_f32", "  all_f32", "race: this invocation writes 'all_f32'"},
	{"rows", "at += 64u", "at += 63u", "race: this invocation writes byte 252 of 'p0'"},
	{"rows", "at < 100u", "at < 101u", "nothing orders workgroups"},
	{"rows", "all_f32[lane + step]", "all_f32[lane + step + 1u]", "index 64 of 'all_f32' is out of bounds"},
	{"rows", "i32(group)", "i32(group + 1u)", "index 400 of 'p1' is out of bounds"},
	{"product", "block_b[i32(lane) + 192]", "block_b[i32(lane) + 193]", "index 256 of 'block_b' is out of bounds"},
	{"product", "    workgroupBarrier();\n    for", "    for", "race: this invocation reads 'block_a'"},
	{"product", "if (!(m < 70))", "if (!(m < 72))", "index 560 of 'p1' is out of bounds"},
	{"product", "if (m >= 70) { break; }", "if (m >= 71) { break; }", "index 4480 of 'p0' is out of bounds"},
	{"elements", "/ 100u", "/ 99u", "is out of bounds: it has 400 elements"},
	{"elements", "if (at >= 400u) { return; }", "", "index 400 of 'p1' is out of bounds"},
	{"gather", "p2[i0]", "p2[i1]", "index 3 of 'p2' is out of bounds"},
	{"convolution", "if (!(u32(y) < 8u)) { continue; }", "", "index -7 of 'p1' is out of bounds"},
	{"attention", "  for (var step", "  if (lane == 0u) { return; }\n  for (var step", "must only be called from uniform control flow"},
	{"attention", "min(i + 1, 9)", "min(i + 2, 10)", "is out of bounds"},
}

func TestMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.golden+"/"+m.right, func(t *testing.T) {
			p, err := wgsl.NewProgram(parse(t, goldens[m.golden]), wgsl.DefaultTarget)
			if err != nil {
				t.Fatal(err)
			}
			s := wgsl.NewSimulator()
			memory := p.Plan.NewMemory()
			if err := s.Run(t.Context(), p.Plan, memory); err != nil || p.Plan.Faulted(memory) {
				t.Fatalf("unchanged: %v", err)
			}
			changed := false
			for i := range p.Plan.Modules {
				source := &p.Plan.Modules[i].Source
				changed = changed || strings.Contains(*source, m.right)
				*source = strings.ReplaceAll(*source, m.right, m.wrong)
			}
			if !changed {
				t.Fatalf("the text has no %q", m.right)
			}
			if err := s.Run(t.Context(), p.Plan, memory); err == nil || !strings.Contains(err.Error(), m.found) {
				t.Errorf("the simulation says %v, want %q", err, m.found)
			}
		})
	}
}
