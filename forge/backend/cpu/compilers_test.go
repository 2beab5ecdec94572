package cpu_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

var update = flag.Bool("update", false, "write the generated C to testdata")

// code is the C of a program.
func code(exe backend.Executable) string { return exe.(interface{ Code() display.Source }).Code().Code }

// TestClang runs some products and convolutions as clang compiles them, which
// spells some vector instructions in its own way.
func TestClang(t *testing.T) {
	path, err := exec.LookPath("clang")
	if err != nil {
		t.Skip("there is no clang on this host")
	}
	t.Setenv("FORGE_CC", path)
	var some []checked
	for i, c := range append(productChecks(t), convolutionChecks(t)...) {
		if i%6 == 0 {
			some = append(some, c)
		}
	}
	check(t, some)
}

// TestARM compiles products and convolutions for arm64; nothing runs.
func TestARM(t *testing.T) {
	cross, err := exec.LookPath("aarch64-linux-gnu-gcc")
	if err != nil {
		t.Skip("there is no cross compiler for arm64 on this host: aarch64-linux-gnu-gcc")
	}
	b := cpu.New()
	b.Target = cpu.Targets()[len(cpu.Targets())-1] // the one without instructions of its own
	var graphs []*ir.Graph
	for i, c := range append(productChecks(t), convolutionChecks(t)...) {
		if i%6 == 0 {
			graphs = append(graphs, c.graph)
		}
	}
	list, err := b.CompileAll(t.Context(), graphs...)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "program.c")
	if err := os.WriteFile(source, []byte(code(list[0])), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), cross, "-O2", "-std=gnu11", "-fPIC", "-fno-math-errno", "-ffp-contract=off", "-c", "-o", source+".o", source).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %.2000s", err, out)
	}
}

// TestGeneratedC compares the C of a small program of each template with
// testdata; -update writes it.
func TestGeneratedC(t *testing.T) {
	for name, src := range map[string]string{
		"product": "graph f(%x: f32[5,6], %w: f32[6,9], %b: f32[9]) {\n %y: f32[5,9] = linear %x, %w, %b {act = \"relu\"}\n return %y\n}",
		"sweep":   "graph f(%x: bf16[1,600], %w: bf16[600,700]) {\n %y: bf16[1,700] = matmul %x, %w\n return %y\n}",
		"dot":     "graph f(%x: f32[2,40], %w: f32[3,40]) {\n %t: f32[40,3] = transpose %w\n %y: f32[2,3] = matmul %x, %t\n return %y\n}",
		"conv":    "graph f(%x: f32[1,2,6,9], %w: f32[3,2,2,2], %b: f32[3]) {\n %y: f32[1,3,3,5] = conv2d %x, %w, %b {stride = [2, 2], padding = [0, 1, 0, 0]}\n return %y\n}",
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, src)
			if err != nil {
				t.Fatal(err)
			}
			b := cpu.New()
			b.Target = cpu.Targets()[len(cpu.Targets())-1]
			text := code(compile(t, b, g))
			at := 0
			for _, first := range []string{"\nKERNEL void linear_0", "\nKERNEL void matmul_0", "\nstatic int conv2d_0", "\nKERNEL void conv2d_0"} {
				if i := strings.Index(text, first); i >= 0 {
					at = i
					break
				}
			}
			text = text[at:]
			path := filepath.Join("testdata", name+".c")
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("the C has changed; go test -update writes it, and git diff shows what is new:\n%s", text)
			}
		})
	}
}
