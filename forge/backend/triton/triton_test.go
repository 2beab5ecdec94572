package triton

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
)

var update = flag.Bool("update", false, "write the generated modules to testdata")

func parse(t *testing.T, text string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// optimised is a model of the suite as programs run it.
func optimised(t *testing.T, name string) *ir.Graph {
	t.Helper()
	g, err := suite.Build(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pass.Run(g, pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Graph
}

func source(t *testing.T, g *ir.Graph) *Module {
	t.Helper()
	m, err := Source(g)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// forms has a kernel of each form: rows in one block and in passes, folds across rows,
// half precision, an index that may be wrong, conditions, also where an address is the
// same everywhere, and a batch of products.
const forms = `graph forms(%x: f32[64,100], %long: f16[3,40000], %tall: f32[500,80], %ids: i64[7], %a: bf16[2,3,40,64], %b: bf16[2,3,64,24], %one: f32[1,1]) {
  %0: f32[64,100] = softmax %x {axis = 1}
  %1: f16[3,40000] = softmax %long {axis = 1}
  %2: f32[80] = sum %tall {axes = [0]}
  %3: f32[7,100] = gather %x, %ids {axis = 0}
  %4: f32[66,103] = pad %x {high = [1, 2], low = [1, 1], value = 0.5}
  %5: bf16[2,3,40,24] = matmul %a, %b {act = "silu"}
  %6: i64[64] = argmax %x {axis = 1, keepdims = false}
  %7: f32[64,100] = maximum %x, %0
  %8: f32[3,9] = pad %one {high = [1, 4], low = [1, 4], value = 1.0}
  return %0, %1, %2, %3, %4, %5, %6, %7, %8
}`

// TestModules compares modules with testdata.
func TestModules(t *testing.T) {
	for name, g := range map[string]*ir.Graph{
		"forms": parse(t, forms), "mlp_8_64_128": optimised(t, "mlp_8_64_128"),
		"vision_text_fusion_4x32_16": optimised(t, "vision_text_fusion_4x32_16"),
	} {
		t.Run(name, func(t *testing.T) {
			text, path := source(t, g).String(), filepath.Join("testdata", name+".py")
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
				t.Errorf("the module has changed; go test -update writes it, and git diff shows what is new")
			}
		})
	}
}

// TestPython has Python parse the modules of the models of the suite, and one module for
// each combination of operator, types and form of the conformance suite.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	args := []string{"-m", "py_compile"}
	write := func(name string, m *Module) {
		path := filepath.Join(dir, name+".py")
		if err := os.WriteFile(path, []byte(m.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	for _, name := range suite.Names() {
		write(name, source(t, optimised(t, name)))
	}
	all := &Module{Name: "conformance"}
	seen, names := make(map[string]bool), make(map[string]bool)
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range source(t, g).Kernels {
			if form := strings.Map(noDigits, k.Text); !seen[form] {
				seen[form] = true
				all.add([]*Kernel{k}, names)
			}
		}
	}
	write("conformance", all)
	if len(seen) < 300 {
		t.Errorf("the conformance suite has %d forms of kernels", len(seen))
	}
	if out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %.2000s", err, out)
	}
}

func noDigits(r rune) rune {
	if '0' <= r && r <= '9' {
		return '0'
	}
	return r
}

// TestCandidates sees that products of any size have at least four ways to be launched,
// that these are different, and that their grids cover the result.
func TestCandidates(t *testing.T) {
	for _, dtype := range []string{"f32", "f16", "bf16"} {
		for _, s := range [][3]int{{1, 1, 1}, {1, 4096, 4096}, {7, 9, 11}, {16, 16, 16}, {64, 256, 512}, {4096, 4096, 4096}} {
			m := source(t, parse(t, fmt.Sprintf("graph p(%%a: %[1]s[%[2]d,%[4]d], %%b: %[1]s[%[4]d,%[3]d]) {\n %%c: %[1]s[%[2]d,%[3]d] = matmul %%a, %%b\n return %%c\n}", dtype, s[0], s[1], s[2])))
			k := m.Kernels[0]
			if len(k.Candidates) < 4 {
				t.Errorf("%s %v has %d candidates", dtype, s, len(k.Candidates))
			}
			seen := make(map[string]bool)
			for _, l := range k.Candidates {
				block := make(map[string]int)
				for _, c := range l.Constants {
					block[c.Name] = c.Value
				}
				if tiles := ((s[0]-1)/block["BLOCK_M"] + 1) * ((s[1]-1)/block["BLOCK_N"] + 1); l.Grid != [3]int{tiles, 1, 1} {
					t.Errorf("%s %v: %v has the grid %v, not %d", dtype, s, l, l.Grid, tiles)
				}
				if seen[l.String()] {
					t.Errorf("%s %v has %v twice", dtype, s, l)
				}
				seen[l.String()] = true
			}
		}
	}
}

// TestMissing sees that every node without a kernel is told, with the reason, and that
// the others have theirs.
func TestMissing(t *testing.T) {
	m := source(t, parse(t, `graph two(%x: f32[3,5], %w: f64[5,5], %v: f64[5,5]) {
  %0: f32[3,5] = exp %x
  %1: f32[3,5] = cumsum %0 {axis = 1}
  %2: f64[5,5] = matmul %w, %v
  %3: f64[5,5] = floor %w
  return %1, %2, %3
}`))
	want := []Missing{
		{"%2", "matmul", "products of f64 have no form in Triton: it has no tiles of them, or adds in another order than the reference"},
		{"%3", "floor", "floor of f64 has no form in Triton"},
		{"%1", "cumsum", "cumsum has no loop form yet"},
	}
	if fmt.Sprint(m.Missing) != fmt.Sprint(want) {
		t.Errorf("missing: %v, want %v", m.Missing, want)
	}
	if len(m.Kernels) != 1 || m.Kernels[0].Name != "exp_v0" {
		t.Errorf("kernels: %v", m.Kernels)
	}
	for _, n := range want {
		if line := fmt.Sprintf("# %s = %s has no kernel here: %s.", n.Value, n.Op, n.Why); !strings.Contains(m.String(), line) {
			t.Errorf("the module lacks %q", line)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for value, want := range map[string]string{
		"%h": "h", "%12": "v12", "$tmp": "tmp", "%for": "for_", "%exp": "exp_", "%tl": "tl_", "%a.b-c": "a_b_c", "%größe": "gr__e", "%": "v", "%acc": "acc_",
	} {
		if got := identifier(value); got != want {
			t.Errorf("%s is %s, want %s", value, got, want)
		}
	}
}

func TestFactor(t *testing.T) {
	for text, want := range map[string]string{
		"x": "x", "a + b": "(a + b)", "f(a + b)": "f(a + b)", "(a) + (b)": "((a) + (b))", "(a + b)": "(a + b)", "f(a) + g(b)": "(f(a) + g(b))",
	} {
		if got := factor(text); got != want {
			t.Errorf("%s as a factor is %s, want %s", text, got, want)
		}
	}
}

func TestBoth(t *testing.T) {
	for want, list := range map[string][]string{
		"": {"", ""}, "a": {"", "a"}, "a < b": {"a < b", ""}, "a & (b < c)": {"a", "b < c"},
		"a & b & (c == 0)": {"a & b", "c == 0"}, "(a | b) & c": {"a | b", "c"}, "f(a & b) & c": {"f(a & b)", "c"},
		"(a < b & c) & d": {"a < b & c", "d"},
	} {
		if got := both(list...); got != want {
			t.Errorf("%q joined are %q, want %q", list, got, want)
		}
	}
}

// TestNames sees that values which are called as what the text calls, or like one
// another, have names of their own.
func TestNames(t *testing.T) {
	m := source(t, parse(t, `graph exp(%tl: f32[3], %x: f32[3]) {
  %acc: f32[3] = maximum %tl, %x
  %exp: f32[3] = maximum %acc, %acc
  return %exp
}`))
	for i, want := range []string{"acc__ptr, tl__ptr, x_ptr,", "exp__ptr, acc__ptr,"} {
		if !strings.Contains(m.Kernels[i].Text, want) {
			t.Errorf("the kernel lacks %q:\n%s", want, m.Kernels[i].Text)
		}
	}
	same := source(t, parse(t, "graph f(%x: f32[3], %v0: f32[3]) {\n %0: f32[3] = exp %x\n %z: f32[3] = maximum %0, %v0\n return %z\n}"))
	if want := "z_ptr, v0_ptr, v0_1_ptr,"; !strings.Contains(same.Kernels[1].Text, want) {
		t.Errorf("the kernel lacks %q:\n%s", want, same.Kernels[1].Text)
	}
}
