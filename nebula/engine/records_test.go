package engine

import (
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
)

// TestExplainRecords sees that kernels from records of tuning are told apart.
func TestExplainRecords(t *testing.T) {
	d := Description{
		Notes: []string{"records of tuning have 7 shapes of nodes for GPU"},
		Programs: []ProgramDescription{{Name: "1x1", Graph: "graph\n", Kernels: []backend.Kernel{
			{Value: "%a", Kernel: "rows of 4", Reason: "tuned: 1 µs of 5 candidates"}, {Value: "%b", Kernel: "rows of 8", Reason: "8 blocks"},
		}}},
	}
	want := d.Notes[0] + "\n\nprogram 1x1\ngraph\nkernels from records of tuning:\n  %a = rows of 4; tuned: 1 µs of 5 candidates\n"
	if text := d.Explain(); !strings.HasSuffix(text, want) {
		t.Errorf("it says\n%s\nand should end with\n%s", text, want)
	}
}

// TestTunedOthers leaves backends alone that have no device.
func TestTunedOthers(t *testing.T) {
	for _, b := range []backend.Backend{single(), conformance.OnHost(single())} {
		if got, notes := tuned(b); got != b || notes != nil {
			t.Errorf("%s became %v: %v", b.Name(), got, notes)
		}
	}
}
