package auto

import (
	"context"
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// TestRules has a program for each rule.
func TestRules(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	t.Setenv("FORGE_CC", "/bin/false")
	found := func() (string, error) { return "/bin/false", nil }
	for name, c := range map[string]struct {
		source string
		find   func() (string, error)
		pick   string
		why    string
	}{
		"device":      {"graph f(%x: f32[4] on cuda) {\n %y: f32[4] on cuda = exp %x\n return %y\n}", found, "interp", "%x is for device cuda"},
		"no kernels":  {"graph f(%x: f64[512,512]) {\n %y: f64[512,512] = exp %x\n return %y\n}", found, "interp", "exp of f64 has no scalar form"},
		"small":       {"graph f(%x: f32[4]) {\n %y: f32[4] = exp %x\n return %y\n}", found, "portable", "would not repay compiling C"},
		"no compiler": {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", func() (string, error) { return "", cpu.NoCompiler{} }, "portable", "there is no C compiler"},
		"bad setting": {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", func() (string, error) { return "", errors.New("FORGE_CC is wrong") }, "portable", "FORGE_CC is wrong"},
		"large":       {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", found, "tiered", "worth compiling C"},
		"no work":     {"graph f(%x: f32[4]) {\n return %x\n}", found, "portable", "its 0 floating-point operations"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, c.source)
			if err != nil {
				t.Fatal(err)
			}
			b := New(1)
			b.find = c.find
			b.tiered = &tiered.Backend{First: portable.New(), Second: cpu.New(), Work: tiered.NewWork(context.Background())}
			t.Cleanup(b.tiered.Work.Stop)
			exe, err := b.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			want := "Backend " + c.pick + " was picked: "
			if notes := backend.Notes(exe); !strings.HasPrefix(notes[0], want) || !strings.Contains(notes[0], c.why) {
				t.Errorf("the notes are %q, want %s and %s", notes, want, c.why)
			}
			if list := exe.Kernels(); name != "no work" && !strings.Contains(list[0].Reason, c.why) {
				t.Errorf("the kernels are %v", list)
			}
		})
	}
}

// TestContract runs what all backends promise, on the one that was picked.
func TestContract(t *testing.T) { conformance.RunContract(t, New(1)) }
