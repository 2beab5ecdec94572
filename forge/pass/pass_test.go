package pass

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGolden runs one pass per file of testdata and compares the graph after it
// and the report. A file holds the sections pass, before, after and report.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section := func(name string) string {
		for _, f := range archive.Files {
			if f.Name == name {
				return string(f.Data)
			}
		}
		return ""
	}
	name := strings.TrimSpace(section("pass"))
	i := indexOf(name)
	if i < 0 {
		t.Fatalf("there is no pass %q", name)
	}
	g := parse(t, section("before"))
	r := &report{pass: name}
	if err := table[i].run(g, r); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(g); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, d := range r.rewrites {
		lines.WriteString(d.String() + "\n")
	}
	after, report := exact(g), lines.String()
	if *update {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "after" || f.Name == "report" })
		archive.Files = append(archive.Files, txtar.File{Name: "after", Data: []byte(after)}, txtar.File{Name: "report", Data: []byte(report)})
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := section("after"); after != want {
		t.Errorf("got\n%s\nwant\n%s", after, want)
	}
	if want := section("report"); report != want {
		t.Errorf("reported\n%s\nwant\n%s", report, want)
	}
}

var dataLabel = regexp.MustCompile(`\] @\d+`)

// exact is the exact text of a graph without the elements of large constants.
func exact(g *ir.Graph) string {
	text, _, _ := strings.Cut(g.String(), "data @")
	return dataLabel.ReplaceAllString(text, "] ...")
}

func TestOrder(t *testing.T) {
	swapped := slices.Clone(table)
	i, j := indexOf("dead-code"), indexOf("fuse-elementwise")
	swapped[i], swapped[j] = swapped[j], swapped[i]
	for want, passes := range map[string][]Pass{
		"pass: dead-code must run before fuse-elementwise: a dead reader would count as a second consumer and block fusion": swapped,
		"pass: fold-constants is in the table twice": append(slices.Clone(table), table[0]),
	} {
		if err := checkOrder(passes, constraints); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	unknown := []constraint{{"simplify", "explode", "one cannot be simplified after"}}
	if err := checkOrder(table, unknown); err == nil || err.Error() != "pass: the constraint simplify < explode names an unknown pass" {
		t.Errorf("got error %v", err)
	}
	for _, c := range constraints {
		if c.reason == "" || strings.HasSuffix(c.reason, ".") {
			t.Errorf("%s < %s needs a one-line reason", c.first, c.then)
		}
	}
}

func indexOf(name string) int {
	return slices.IndexFunc(table, func(p Pass) bool { return p.Name == name })
}

const program = `graph f(%x: f32[8,16], %b: f32[16]) {
  %0: f32[8,16] = add %x, %b @ "f.fs":2:8
  %1: f32[] = const {value = f32[] 0.5} @ "f.fs":3:8
  %2: f32[8,16] = mul %0, %1 @ "f.fs":3:8
  %3: f32[8] = sum %2 {axes = [1]}
  return %3
}
`

func TestRun(t *testing.T) {
	g := parse(t, program)
	r, err := Run(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if g.String() != program {
		t.Error("Run changed its input")
	}
	var names []string
	for _, s := range r.Snapshots {
		names = append(names, s.Pass)
		if h := parse(t, s.Text()); !ir.Equal(h, s.Graph) {
			t.Errorf("the snapshot after %s does not survive its text form", s.Pass)
		}
		if raw, err := s.JSON(); err != nil || !bytes.Contains(raw, []byte(`"format":"forge.ir"`)) {
			t.Errorf("JSON after %s: %s, %v", s.Pass, raw, err)
		}
	}
	if want := append([]string{TraceSnapshot}, Names()...); !slices.Equal(names, want) {
		t.Errorf("snapshots %v, want %v", names, want)
	}
	first, last := r.Snapshots[0].Summary, r.Snapshots[len(r.Snapshots)-1].Summary
	if want := (Summary{Nodes: 3, Constants: 1, FLOPs: 384, Bytes: 2*512 + 64 + 2*512 + 4 + 512 + 32}); first != want {
		t.Errorf("the traced graph counts %+v, want %+v", first, want)
	}
	if want := (Summary{Nodes: 2, FLOPs: 384, Bytes: 2*512 + 64 + 512 + 32}); last != want {
		t.Errorf("the optimised graph counts %+v, want %+v", last, want)
	}
	explained := r.Explain()
	for _, want := range []string{
		"after                     nodes  constants          FLOPs    bytes moved\n",
		"\ntrace                         3          1            384           2660\n",
		"\nfuse-elementwise              2          0            384           1632\n",
		`

fuse-elementwise
  applied   %0 = add (f.fs:2:8): fused into the kernel of %2 [%2]
  applied   %1 = const (f.fs:3:8): copied into the kernel of %2 [%2]
  declined  %2 = mul (f.fs:3:8): its consumer %3 (sum) is not elementwise [%3]
`} {
		if !strings.Contains(explained, want) {
			t.Errorf("%q is missing in\n%s", want, explained)
		}
	}
	b := r.Display()
	if b.Data["text/plain"] != explained || strings.Count(b.Data["text/html"].(string), "<tr>") != 1+len(r.Snapshots)+1+len(r.Rewrites) {
		t.Errorf("unexpected display %v", b.Data)
	}
}

func TestOptions(t *testing.T) {
	g := parse(t, program)
	r, err := Run(g, Options{Disable: []string{"fuse-elementwise"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Graph.String() != program || len(r.Snapshots) != len(table) {
		t.Errorf("without fusion the graph becomes\n%s", r.Graph)
	}
	if r, err = Run(g, Options{Until: "dead-code"}); err != nil || r.Snapshots[len(r.Snapshots)-1].Pass != "dead-code" {
		t.Errorf("the pipeline did not stop: %v", err)
	}
	if names := after(t, r.Graph, Options{After: "dead-code", Until: "fuse-elementwise"}); names[0] != "recognise-norms" || names[len(names)-1] != "fuse-elementwise" {
		t.Errorf("the part from dead-code to fuse-elementwise is %v", names)
	}
	for want, opts := range map[string]Options{
		`there is no pass "fuse"; the passes are fold-constants, simplify, `:        {Until: "fuse"},
		`there is no pass "ahead"; the passes are fold-constants, simplify, `:       {After: "ahead"},
		`there is no pass "x"; the passes are fold-constants, simplify, `:           {Disable: []string{"x"}},
		`the graph is the one after simplify, which runs later than fold-constants`: {After: "simplify", Until: "fold-constants"},
	} {
		if _, err := Run(g, opts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// after lists the passes that ran.
func after(t *testing.T, g *ir.Graph, opts Options) []string {
	t.Helper()
	r, err := Run(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.Snapshots[1:] {
		names = append(names, s.Pass)
	}
	return names
}

// TestResume checks that a pipeline in two halves, with the text form between
// them, gives what it gives in one.
func TestResume(t *testing.T) {
	g := parse(t, program)
	whole, err := Run(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		first, err := Run(g, Options{Until: name})
		if err != nil {
			t.Fatal(err)
		}
		second, err := Run(parse(t, first.Graph.String()), Options{After: name})
		if err != nil {
			t.Fatal(err)
		}
		if !ir.Equal(second.Graph, whole.Graph) {
			t.Errorf("resumed after %s the graph becomes\n%s\nnot\n%s", name, second.Graph, whole.Graph)
		}
	}
}

// TestSharedSubexpressions counts the work on graphs whose expression trees
// grow exponentially with depth: the fused kernel must stay linear.
func TestSharedSubexpressions(t *testing.T) {
	for _, steps := range []int{14, 40, 1000} {
		b := ir.NewBuilder(op.Registry, "fibonacci")
		x, err := b.Input("x", ir.F32(4))
		if err != nil {
			t.Fatal(err)
		}
		previous, current := x, x
		for range steps {
			next, err := b.Apply("add", nil, previous, current)
			if err != nil {
				t.Fatal(err)
			}
			previous, current = current, next
		}
		g, err := b.Finish(current)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(g, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Graph.Nodes) != 1 || len(r.Graph.Nodes[0].Body.Nodes) != steps {
			t.Errorf("%d steps became %d nodes", steps, len(r.Graph.Nodes))
		}
	}
}

// TestProvenance checks that a fused node names every line it implements,
// its result's first.
func TestProvenance(t *testing.T) {
	r, err := Run(parse(t, program), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []ir.Pos{{Source: "f.fs", Line: 3, Col: 8}, {Source: "f.fs", Line: 2, Col: 8}}
	if got := r.Graph.Nodes[0].Pos; !slices.Equal(got, want) {
		t.Errorf("the kernel comes from %v, want %v", got, want)
	}
}
