package display

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forgekernel/display/internal/cells"
)

func TestSourceOfIR(t *testing.T) {
	got := Source{Lang: "ir", Name: "mlp <traced>", Highlight: []int{2}, Code: "graph mlp(%x: f32[8]) {\n\t%y: f32[8] = pow %x {exponent=2.5} @ \"a.fs\":2:7\n  return %y # <end>\n}\n"}.Display()
	const want = `<div class="mathjax_ignore tex2jax_ignore" style="font-size:12px;font-weight:600">mlp &lt;traced&gt;</div>
<pre><i>1 </i> <span style="color:#cf222e">graph</span> <span style="color:#8250df">mlp</span>(<span style="color:#0550ae">%x</span>: <span style="color:#953800">f32</span>[<span style="color:#0550ae">8</span>]) {
<i><b>2</b> </i> <span style="background-color:#fff1a8">    <span style="color:#0550ae">%y</span>: <span style="color:#953800">f32</span>[<span style="color:#0550ae">8</span>] = <span style="color:#8250df">pow</span> <span style="color:#0550ae">%x</span> {<span style="color:#116329">exponent</span>=<span style="color:#0550ae">2.5</span>} <span style="color:#6e7781">@ &#34;a.fs&#34;:2:7</span></span>
<i>3 </i>   <span style="color:#cf222e">return</span> <span style="color:#0550ae">%y</span> <span style="color:#6e7781"># &lt;end&gt;</span>
<i>4 </i> }
</pre>`
	if h := abbreviated(got.Data[mimeHTML].(string)); h != want {
		t.Errorf("got\n%s\nwant\n%s", h, want)
	}
	if text := got.Data[mimeText].(string); !strings.HasPrefix(text, "graph mlp(%x") {
		t.Errorf("plain form %q", text)
	}
}

// abbreviated writes <i> for the spans of line numbers and drops the style of
// the listing.
func abbreviated(h string) string {
	h = strings.Replace(h, ` style="`+preStyle+`"`, "", 1)
	for _, hex := range []string{"#8c959f", "#9a6700"} {
		h = strings.ReplaceAll(h, `<span style="color:`+hex+`;user-select:none">`, "<i>")
	}
	return strings.ReplaceAll(strings.ReplaceAll(h, "</b> </span>", "</b> </i>"), " </span> ", " </i> ")
}

func TestSourceLanguages(t *testing.T) {
	tests := []struct{ lang, code, word, colour string }{
		{"c", "for (int i = 0; i < n; i++) {}", "for", "#cf222e"},
		{"cuda", "__global__ void k(float *x) { x[threadIdx.x] = 1; }", "threadIdx", "#cf222e"},
		{"wgsl", "@compute fn main() { let x = 1.0; }", "fn", "#cf222e"},
		{"triton", "def k(x):\n  return x # end", "# end", "#6e7781"},
		{"forgescript", "def mlp(x, w):\n    return relu(x @ w)", "def", "#cf222e"},
		{"go", "package main\nfunc f() string { return \"s\" }", "func", "#cf222e"},
	}
	for _, test := range tests {
		h := Source{Lang: test.lang, Code: test.code}.Display().Data[mimeHTML].(string)
		if want := `<span style="color:` + test.colour + `">` + test.word + "</span>"; !strings.Contains(h, want) {
			t.Errorf("%s: no %s in\n%s", test.lang, want, h)
		}
	}
}

// What a difference removes is red and what it adds is green.
func TestSourceOfDiff(t *testing.T) {
	page := Source{Lang: "diff", Code: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n"}.Display().Data["text/html"].(string)
	for text, hex := range map[string]string{"-old": "#cf222e", "+new": "#116329", "@@ -1 +1 @@": "#6e7781"} {
		before, _, found := strings.Cut(page, text)
		if tag := before[strings.LastIndex(before, "<"):]; !found || !strings.Contains(tag, hex) {
			t.Errorf("%q stands in %s, want %s", text, tag, hex)
		}
	}
}

func TestSourceKeepsItsText(t *testing.T) {
	for _, lang := range []string{"ir", "go", "python", "c", "no such language"} {
		code := "a <b> & \"c\"\n\n\u202e%x = $ \x1b[31m é 幅\n  'open"
		h := Source{Lang: lang, Code: code}.Display().Data[mimeHTML].(string)
		want := "1 a <b> & \"c\"\n2\n3 \uFFFD%x = $ ␛[31m é 幅\n4 'open"
		if got := htmlLines(h); got != want {
			t.Errorf("%s: text %q, want %q", lang, got, want)
		}
	}
}

// htmlLines is the text of a listing with runs of spaces made one.
func htmlLines(h string) string {
	var out []string
	for line := range strings.Lines(h) {
		if text := htmlText(line); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

func TestLongSourceIsFolded(t *testing.T) {
	h := Source{Lang: "c", Name: "kernel.c", Code: strings.Repeat("x += 1;\n", 50)}.Display().Data[mimeHTML].(string)
	if !strings.HasPrefix(h, "<details><summary class=\"mathjax_ignore tex2jax_ignore\">kernel.c, 50 lines</summary>") || !strings.HasSuffix(h, "</pre></details>") {
		t.Errorf("listing is not folded: %.80s", h)
	}
	if !strings.Contains(h, ">50 </span>") || !strings.Contains(h, "> 1 </span>") {
		t.Error("line numbers are not aligned")
	}
}

// listed takes the lines of code back from a listing.
func listed(h string) []string {
	_, h, _ = strings.Cut(h, "<pre")
	_, h, _ = strings.Cut(h, ">")
	h, _, _ = strings.Cut(h, "</pre>")
	var lines []string
	for line := range strings.Lines(h) {
		text := html.UnescapeString(tags.ReplaceAllString(line, ""))
		_, code, _ := strings.Cut(strings.TrimLeft(text, " "), "  ") // behind the number
		lines = append(lines, strings.TrimSuffix(code, "\n"))
	}
	return lines
}

var tags = regexp.MustCompile(`<[^>]*>`)

func FuzzSource(f *testing.F) {
	f.Add("ir", "graph f(%x: f32[2]) { return %x }")
	f.Add("ir", "\"open @\"x %\n\n  b\n")
	f.Add("cuda", "/* \n\n __global__ <b> & \tx")
	f.Add("go", "\"\u202e\x00")
	f.Fuzz(func(t *testing.T, lang, code string) {
		if len(code) > 4096 || !utf8.ValidString(code) || strings.Contains(code, "\r") {
			t.Skip("not a listing: too long, or lines end otherwise")
		}
		got := listed(Source{Lang: lang, Code: code}.Display().Data[mimeHTML].(string))
		want := strings.Split(strings.TrimRight(code, "\n"), "\n")
		for i, line := range want {
			want[i] = strings.Map(cells.Visible, strings.ReplaceAll(line, "\t", "    "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Lines that implement one thing have one hover text around them, and every span ends.
func TestSourceTips(t *testing.T) {
	s := Source{Lang: "c", Code: "alpha;\nbeta;\ngamma;\ndelta;\nomega;", Links: []Link{
		{First: 2, Last: 3, Label: "%x", Tip: "x & y"}, {First: 4, Last: 4, Label: "%z", Tip: "z"},
	}}
	h := s.Display().Data[mimeHTML].(string)
	if n := strings.Count(h, `<span title="x &amp; y">`); n != 1 {
		t.Errorf("%d spans for the first link", n)
	}
	at := -1
	for _, next := range []string{"alpha", "x &amp; y", "beta", "gamma", `<span title="z">`, "delta", "omega"} {
		i := strings.Index(h, next)
		if i < at {
			t.Errorf("%s stands elsewhere:\n%s", next, h)
		}
		at = i
	}
	if open, closed := strings.Count(h, "<span"), strings.Count(h, "</span>"); open != closed {
		t.Errorf("%d spans begin and %d end", open, closed)
	}
}
