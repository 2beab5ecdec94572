package explain_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"

	"forgekernel/forge"
	"forgekernel/forge/explain"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// constantProgram explains x * c.
func constantProgram(t *testing.T, c *forge.Tensor) *explain.Report {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "scale")
	x, err := b.Input("x", ir.F32(c.Shape()...))
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.Const(c)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Apply("mul", nil, x, k)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(y)
	if err != nil {
		t.Fatal(err)
	}
	p, err := forge.FromGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	return p.Explain()
}

// elements walks a page.
func elements(t *testing.T, page string) []*html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var list []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

const spread = `# rows, centred
def centre(x):
    return x - mean(x, axis=-1, keepdims=True)

def spread(x: f32[16,128], scale: f32[128]):
    """Rows over one more than their spread."""
    centred = centre(x)
    variance = mean(centred * centred, axis=-1, keepdims=True)
    return centred / (sqrt(variance) + 1) * scale + x
`

func explainedSource(t *testing.T) *explain.Report {
	t.Helper()
	p, err := forge.Compile(spread, forge.Named("spread.fs"), forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Explain()
}

// The page needs nothing from elsewhere, and its parts are whole.
func TestPageStandsAlone(t *testing.T) {
	page := explainedSource(t).HTML()
	for _, n := range elements(t, page) {
		for _, key := range []string{"src", "href", "action"} {
			if link := attribute(n, key); link != "" && !strings.HasPrefix(link, "data:") {
				t.Errorf("<%s> loads %s", n.Data, link)
			}
		}
	}
	if regexp.MustCompile(`@import|url\(|https?://[^w]`).MatchString(page) {
		t.Error("the page refers to something outside")
	}
	opened, closed := strings.Count(page, "<div"), strings.Count(page, "</div>")
	if opened != closed {
		t.Errorf("%d divs are opened and %d closed", opened, closed)
	}
}

// Every line of every column that defines a value can be chosen, and every place
// that it names stands in the source.
func TestColumnsAreLinked(t *testing.T) {
	r := explainedSource(t)
	source, defined, placed := make(map[string]bool), make(map[string]int), 0
	all := elements(t, r.Fragment())
	for _, n := range all {
		if s := attribute(n, "data-s"); s != "" {
			source[s] = true
		}
		if d := attribute(n, "data-d"); d != "" {
			defined[d]++
		}
	}
	for _, n := range all {
		if attribute(n, "data-d") == "" || attribute(n, "data-p") == "" {
			continue
		}
		placed++
		for _, p := range strings.Fields(attribute(n, "data-p")) {
			if !source[p] {
				t.Errorf("place %s of %s is not in the source column", p, attribute(n, "data-d"))
			}
		}
	}
	if defined["variance"] < 2 || defined["9/7"] == 0 || placed == 0 {
		t.Errorf("defined %v, %d lines with places", defined, placed)
	}
	for _, n := range all {
		v := attribute(n, "data-v")
		if _, param := strings.CutPrefix(v, ""); v != "" && param && defined[v] == 0 && !isInput(r, v) && !strings.Contains(v, "/") {
			t.Errorf("%%%s can be chosen and is defined nowhere", v)
		}
	}
}

func isInput(r *explain.Report, name string) bool {
	for _, in := range r.Inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

// What a page keeps that removes scripts, style sheets and unknown attributes is
// still the whole of the columns.
func TestUntrusted(t *testing.T) {
	r := explainedSource(t)
	policy := bluemonday.UGCPolicy()
	policy.AllowDataURIImages()
	kept := policy.Sanitize(r.Fragment())
	for _, gone := range []string{"<script", "<style", "data-d"} {
		if strings.Contains(kept, gone) {
			t.Fatalf("the policy keeps %s", gone)
		}
	}
	text := strings.Join(strings.Fields(bluemonday.StripTagsPolicy().Sanitize(kept)), " ")
	for _, want := range []string{
		"spread from spread.fs, on interp",
		"%variance: f32[16,1] = mean %2",
		"unchanged by",
		"fused into the kernel of %",
		"ratio 1.00",
		"fused(",
		"variance = mean(centred * centred",
	} {
		if !strings.Contains(text, html.EscapeString(want)) && !strings.Contains(text, want) {
			t.Errorf("what is left lacks %q", want)
		}
	}
	if !strings.Contains(kept, "data:image/svg+xml;base64,") {
		t.Error("the plot of memory is gone")
	}
}

// Names of a hostile source stay text.
func TestHostileNames(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>"'&.fs`
	p, err := forge.Compile("def f(x: f32[4]):\n    # <b>bold</b> & \"quoted\"\n    y = x * 2 + 1\n    return relu(y)\n", forge.Named(evil), forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range elements(t, p.Explain().HTML()) {
		if n.Data == "b" && n.FirstChild != nil && n.FirstChild.Data == "bold" || attribute(n, "onerror") != "" {
			t.Errorf("the source became <%s>", n.Data)
		}
	}
}

// large is a chain of n layers of three operators with names of their own.
func large(n int) string {
	var b strings.Builder
	b.WriteString("def large(x: f32[8,8], w: f32[8,8]):\n    h0 = x\n")
	for i := range n {
		fmt.Fprintf(&b, "    a%d = h%d @ w\n    b%d = tanh(a%d)\n    h%d = b%d + h%d\n", i, i, i, i, i+1, i, i)
	}
	fmt.Fprintf(&b, "    return h%d\n", n)
	return b.String()
}

// A graph of a thousand nodes stays a page that opens at once.
func TestPageOfALargeGraph(t *testing.T) {
	p, err := forge.Compile(large(340), forge.Named("large.fs"), forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	r := p.Explain()
	page := r.HTML()
	if nodes := r.Delta.Before.Nodes; nodes < 1000 {
		t.Fatalf("the graph has %d nodes", nodes)
	}
	if size := len(page); size > 3<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	if !strings.Contains(page, `data-d="h340"`) || !strings.Contains(page, `data-d="h1"`) {
		t.Error("the page lacks the first or the last layer")
	}
	t.Logf("%d nodes, %d KiB", r.Delta.Before.Nodes, len(page)>>10)
}

// Of a larger one the columns between the first and the last show what changed.
func TestColumnsShowChangesOnly(t *testing.T) {
	source := strings.Replace(large(700), "h0 = x\n", "h0 = x * 1\n", 1)
	p, err := forge.Compile(source, forge.Named("large.fs"), forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	var columns []*html.Node
	for _, n := range elements(t, p.Explain().Fragment()) {
		if attribute(n, "class") == "fx-col" {
			columns = append(columns, n)
		}
	}
	if len(columns) < 4 { // the source, the trace, simplify, and the rest
		t.Fatalf("%d columns", len(columns))
	}
	count := func(column *html.Node) (lines, elided int) {
		for n := range column.Descendants() {
			if attribute(n, "data-d") != "" {
				lines++
			}
			if n.Type == html.TextNode && strings.HasSuffix(n.Data, "lines as before") {
				elided++
			}
		}
		return lines, elided
	}
	if lines, elided := count(columns[1]); lines < 2100 || elided != 0 {
		t.Errorf("the trace has %d lines and %d gaps", lines, elided)
	}
	if lines, elided := count(columns[2]); lines == 0 || lines > 2100 || elided == 0 {
		t.Errorf("simplify has %d lines and %d gaps", lines, elided)
	}
}

func BenchmarkFragment(b *testing.B) {
	p, err := forge.Compile(large(340), forge.Named("large.fs"), forge.OnBackend("interp"))
	if err != nil {
		b.Fatal(err)
	}
	r := p.Explain()
	for b.Loop() {
		r.Fragment()
	}
}

// Without a source, hues tell kinds of operators.
func TestHuesWithoutSource(t *testing.T) {
	r := constantProgram(t, forge.Randn(64))
	page := r.Fragment()
	if !strings.Contains(page, "colours are kinds of operators") || strings.Contains(page, "What the program was made from") {
		t.Error("the page speaks of a source that there is not")
	}
	edges := make(map[string]string)
	for _, n := range elements(t, page) {
		if key := attribute(n, "data-d"); key != "" {
			edges[key] = attribute(n, "style")[:len("border-left:3px solid #000000")]
		}
	}
	if len(edges) != 2 || edges["0"] == edges["1"] {
		t.Errorf("a constant and a product have the edges %v", edges)
	}
	if page := explainedSource(t).Fragment(); !strings.Contains(page, "colours are lines of the source") {
		t.Error("the page with a source says something else of hues")
	}
}
