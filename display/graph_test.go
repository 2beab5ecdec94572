package display

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/display/internal/cells"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got\n%s", name, got)
	}
}

// oddGraph has labels that mean something to every format, a cycle, parallel
// edges, a self-loop, and nodes and a cluster that are only mentioned.
func oddGraph() Graph {
	return Graph{
		Name: `odd <labels> & "quotes"`,
		Nodes: []Node{
			{ID: "a", Label: `1. list "q" #35; <b>x</b> & |`, Sub: "f32[8,16] `code` **b** _i_", Tooltip: "<tip>"},
			{ID: "b", Label: "style:x#y; %%{init}%% end", Sub: "$$x^2$$ - {a}", Cluster: "mentioned"},
			{ID: "end"},
			{ID: "c_1", Label: `- item\n` + "\x1b[31m\u202e", Sub: "é 幅 → ∑ k-v_0.5"},
			{ID: "end", Label: strings.Repeat("long ", 12), Class: "no such class"},
		},
		Edges: []Edge{
			{From: "a", To: "b", Label: `e "1" | <i>`}, {From: "a", To: "b"}, {From: "b", To: "end"},
			{From: "end", To: "a"}, {From: "b", To: "b", Label: "self"}, {From: "b", FromPort: "out", To: "ghost", ToPort: "in"},
		},
	}
}

func TestGraphGolden(t *testing.T) {
	lr := mlpGraph()
	lr.Direction, lr.Theme = LeftRight, Dark
	for name, g := range map[string]Graph{"mlp": mlpGraph(), "mlp-lr-dark": lr, "odd": oddGraph()} {
		svg, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", svg)
		golden(t, name+".mmd", g.Mermaid())
		golden(t, name+".txt", g.ASCII())
	}
}

// The elements and attributes that drawings may use; what is not listed may be
// removed by a sanitiser.
var svgAllowed = map[string]string{
	"svg":   "xmlns width height viewBox role aria-label font-family",
	"g":     "",
	"title": "",
	"rect":  "x y width height rx fill stroke stroke-width stroke-dasharray",
	"path":  "d fill stroke stroke-width",
	"text":  "x y text-anchor font-family font-weight font-size fill",
}

// checkSVG verifies that a drawing is well-formed, keeps to the allowed
// elements, and returns its text.
func checkSVG(t *testing.T, svg string) string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("malformed SVG: %v", err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			attrs, ok := svgAllowed[token.Name.Local]
			if !ok {
				t.Errorf("element %s", token.Name.Local)
			}
			for _, a := range token.Attr {
				if !strings.Contains(" "+attrs+" ", " "+a.Name.Local+" ") {
					t.Errorf("attribute %s of %s", a.Name.Local, token.Name.Local)
				}
			}
		}
	}
}

func TestSVGUsesPresentationAttributesOnly(t *testing.T) {
	for _, g := range []Graph{mlpGraph(), attentionGraph(1), oddGraph(), {}} {
		svg, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		checkSVG(t, svg)
	}
}

func TestGraphBundle(t *testing.T) {
	small := mlpGraph().Display()
	for _, mime := range []string{mimeText, mimeSVG, mimePNG} {
		if small.Data[mime] == nil {
			t.Errorf("small graph has no %s", mime)
		}
	}
	if small.Data[mimeHTML] != nil || small.Data[mimeMermaid] != nil {
		t.Error("HTML or Mermaid would hide every other form")
	}
	img, err := png.Decode(bytes.NewReader(small.Data[mimePNG].([]byte)))
	if err != nil {
		t.Fatal(err)
	}
	size := small.Metadata[mimePNG].(map[string]any)
	if got := img.Bounds().Size(); got.X != 2*size["width"].(int) || got.Y != 2*size["height"].(int) {
		t.Errorf("image of %v pixels is shown as %v", got, size)
	}
}

func TestHugeGraphShowsAsList(t *testing.T) {
	layers := randomGraph(2000, 1)
	for i := range 500 { // edges over all layers
		layers.Edges = append(layers.Edges, Edge{From: "v0", To: fmt.Sprintf("v%d", 1999-i)})
	}
	for i := 1; i < 2000; i++ {
		layers.Edges = append(layers.Edges, Edge{From: fmt.Sprintf("v%d", i-1), To: fmt.Sprintf("v%d", i)})
	}
	for _, g := range []Graph{layers, randomGraph(drawnNodes+1, 1)} {
		_, err := g.SVG()
		if err == nil || !strings.Contains(err.Error(), "too large") {
			t.Fatalf("got error %v", err)
		}
		b := g.Display()
		text := b.text()
		if len(b.Data) != 1 || !strings.HasSuffix(text, " more\n\n(no picture: "+err.Error()+")") {
			t.Errorf("bundle has %d forms; text ends %q", len(b.Data), text[len(text)-80:])
		}
		if n := strings.Count(text, "\n"); n != listedLines+2 {
			t.Errorf("list of %d lines", n)
		}
	}
}

func TestPNGStaysWithinItsLimits(t *testing.T) {
	g := Graph{}
	for i := range 200 {
		g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i), To: fmt.Sprint(i + 1)})
	}
	b, err := g.PNG()
	if err != nil {
		t.Fatal(err)
	}
	c, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if c.Height > pngSide || c.Height < pngSide-10 {
		t.Errorf("height %d", c.Height)
	}
	if g.Display().Data[mimePNG] != nil {
		t.Error("the bundle has an image that is too small to read")
	}
}

func TestDrawingIsDeterministic(t *testing.T) {
	a, err := attentionGraph(2).SVG()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := attentionGraph(2).SVG(); a != b {
		t.Error("two drawings of one graph differ")
	}
}

func FuzzGraphLabels(f *testing.F) {
	f.Add(`"]; n0 --> n1 %%{init: {}}%%`, "`md` **b** 1. $$x$$", "a|b")
	f.Add("</text><script>", "\x00\x1b[0m\u202e", "end")
	f.Add("\xff\xfe", "\ufffe", "")
	f.Fuzz(func(t *testing.T, label, sub, port string) {
		g := Graph{
			Name:  label,
			Nodes: []Node{{ID: label, Label: sub, Sub: label, Tooltip: sub, Cluster: port, Class: Class(port)}},
			Edges: []Edge{{From: label, FromPort: port, To: sub, ToPort: label, Label: sub}},
		}
		svg, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		checkSVG(t, svg)
		for line := range strings.Lines(g.Mermaid()) {
			if !strings.HasPrefix(line, "%%{init") { // nothing of the graph is in it
				checkMermaidLine(t, strings.TrimSpace(line))
			}
		}
		for line := range strings.Lines(g.ASCII()) {
			if line = strings.TrimSuffix(line, "\n"); line != cells.OneLine(line) {
				t.Errorf("control characters in %q", line)
			}
		}
	})
}

// checkMermaidLine verifies that quotes stand around labels only, and that
// labels hold nothing that could be syntax.
func checkMermaidLine(t *testing.T, line string) {
	t.Helper()
	parts := strings.Split(line, `"`)
	if len(parts) != 1 && len(parts) != 3 {
		t.Fatalf("%d quotes in %q", len(parts)-1, line)
	}
	if len(parts) == 1 {
		return
	}
	label := strings.ReplaceAll(parts[1], "<br/>", "")
	for _, r := range "\"'`<>{}|%&\\:$*~^@!?+" {
		if strings.ContainsRune(label, r) {
			t.Errorf("%q in label of %q", r, line)
		}
	}
	for i, piece := range strings.Split(label, "#") {
		if code, _, ok := strings.Cut(piece, ";"); i > 0 && (!ok || strings.Trim(code, "0123456789") != "") {
			t.Errorf("bad character code in %q", line)
		}
	}
}

func BenchmarkGraphSVG(b *testing.B) {
	for _, n := range []int{50, 500, 2000} {
		g := randomGraph(n, 1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := g.SVG(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGraphPNG(b *testing.B) {
	g := randomGraph(50, 1)
	for b.Loop() {
		if _, err := g.PNG(); err != nil {
			b.Fatal(err)
		}
	}
}
