package export

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"forgekernel/kernel/notebook"
)

func page1(t *testing.T, nb *notebook.Notebook, opts Options) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, nb, opts); err != nil {
		t.Fatal(err)
	}
	if _, err := html.Parse(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdownBook(sources ...string) *notebook.Notebook {
	nb := &notebook.Notebook{}
	for _, s := range sources {
		nb.Insert(len(nb.Cells), &notebook.Cell{Type: notebook.Markdown, Source: s})
	}
	return nb
}

// A heading that is collapsed in the notebook folds its section in the page, up to the
// next heading of its level, or to the end.
func TestCollapsedSections(t *testing.T) {
	nb := markdownBook("# Book", "## Solutions", "hidden", "### Part", "also hidden", "## After", "shown", "## Last", "hidden too")
	for _, i := range []int{1, 3, 7} {
		nb.Cells[i].Metadata = map[string]any{"jp-MarkdownHeadingCollapsed": true}
	}
	page := body(page1(t, nb, Options{}))
	depth := map[string]int{}
	var walk func(n *html.Node, folds int)
	walk = func(n *html.Node, folds int) {
		if n.Data == "details" {
			folds++
		}
		if n.Data == "summary" {
			folds--
		}
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" {
			depth[strings.TrimSpace(n.Data)] = folds
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, folds)
		}
	}
	_, main, _ := strings.Cut(page, "<main>")
	doc, err := html.Parse(strings.NewReader("<main>" + main))
	if err != nil {
		t.Fatal(err)
	}
	walk(doc, 0)
	for text, want := range map[string]int{"Book": 0, "Solutions": 0, "hidden": 1, "Part": 1, "also hidden": 2, "After": 0, "shown": 0, "Last": 0, "hidden too": 1} {
		if depth[text] != want {
			t.Errorf("%q is behind %d folds, want %d:\n%s", text, depth[text], want, main)
		}
	}
	if strings.Count(page, "<details") != strings.Count(page, "</details>") {
		t.Error("a fold is not closed")
	}
}

func codeBook(source string, outputs ...*notebook.Output) *notebook.Notebook {
	nb := &notebook.Notebook{}
	nb.Insert(0, &notebook.Cell{Type: notebook.Code, Source: source, ExecutionCount: 3, Outputs: outputs})
	return nb
}

func shows(data map[string]any) *notebook.Output {
	return &notebook.Output{Type: notebook.DisplayData, Data: data}
}

// contains checks what must and, after a "!", must not be in a page.
func contains(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if unwanted, ok := strings.CutPrefix(w, "!"); ok {
			if strings.Contains(page, unwanted) {
				t.Errorf("%q is in\n%s", unwanted, body(page))
			}
		} else if !strings.Contains(page, w) {
			t.Errorf("%q is not in\n%s", w, body(page))
		}
	}
}

func body(page string) string {
	_, after, _ := strings.Cut(page, "<body>")
	return after
}

func TestMarkdown(t *testing.T) {
	page := page1(t, markdownBook("# A *b* `c`\n\n| x | y |\n|---|--:|\n| 1 | 2 |\n\n~~gone~~ https://example.org",
		"## A b c\n\ncosts $5 and $6, but $x_1 * y_2 * z$ and\n\n$$\na_1 < b_1\n$$\n\n```go\nfunc f() {}\n```\n\n```mermaid\ngraph TD\n```",
		"### Übung & Ü\n\n# A b c"), Options{})
	contains(t, page,
		"<title>A b c</title>", `<h1 id="a-b-c">`, `<h2 id="a-b-c-2">`, `<h1 id="a-b-c-3">`, `<h3 id="bung">`,
		`<li class="level1"><a href="#a-b-c">A b c</a></li>`, `<li class="level2"><a href="#a-b-c-2">`, "Übung &amp; Ü</a>",
		"<th>x</th>", "<del>gone</del>", `<a href="https://example.org"`,
		"costs $5 and $6", `<span class="math">$x_1 * y_2 * z$</span>`, "<span class=\"math\">$$\na_1 &lt; b_1\n$$</span>",
		`<span class="kd">func</span> <span class="nf">f</span>() {}`, "graph TD", "!<em>y", "!<em> y", "!<script")
}

func TestContentsOnlyWhereUseful(t *testing.T) {
	contains(t, page1(t, markdownBook("# One\n## Two"), Options{}), "!<nav>", "<title>One</title>")
	contains(t, page1(t, markdownBook("text"), Options{}), "<title>Notebook</title>")
	contains(t, page1(t, markdownBook("text"), Options{Title: "<T>"}), "<title>&lt;T&gt;</title>")
}

func TestAttachment(t *testing.T) {
	nb := markdownBook("![pic](attachment:p.png) ![none](attachment:q.png)")
	nb.Cells[0].Attachments = map[string]any{"p.png": map[string]any{"image/png": "iVBOR\nw0K"}}
	contains(t, page1(t, nb, Options{}), `<img src="data:image/png;base64,iVBORw0K" alt="pic"`, "!attachment:")
}

func TestCode(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"x := 1 // y", `<span class="c1">// y</span>`},
		{"# comment\ndef f(x):\n    return x", `<span class="k">def</span>`},
		{"%%forge --shapes 2\ndef f(x):\n    return x", "<span class=\"magic\">%%forge --shapes 2</span>\n<span class=\"k\">def</span>"},
		{"%%bash\necho $HOME", `<span class="nv">$HOME</span>`},
		{"%%writefile a.c\nint x;", `<span class="kt">int</span>`},
		{"%%writefile a.fs\ndef f(x):", `<span class="k">def</span>`},
		{"%%writefile a.unknown\n<b>", "&lt;b&gt;"},
		{"%%time", `<span class="magic">%%time</span></pre>`},
		{"!ls *.go", "ls"},
		{"a < b && c", "&lt;"},
	} {
		contains(t, page1(t, codeBook(c.source), Options{}), c.want, "In [3]", "!<b>")
	}
	nb := codeBook("x := 1")
	nb.Metadata = map[string]any{"language_info": map[string]any{"name": "python"}}
	nb.Cells[0].Source = "import os"
	contains(t, page1(t, nb, Options{}), `<span class="nn">os</span>`)
	nb.Cells[0].Metadata = map[string]any{"jupyter": map[string]any{"source_hidden": true, "outputs_hidden": true}}
	contains(t, page1(t, nb, Options{}), "<summary>Source</summary>", `<details class="outputs">`)
}

// TestChoice checks which form of a display is shown.
func TestChoice(t *testing.T) {
	all := map[string]any{
		"text/vnd.mermaid": "graph TD", "image/svg+xml": "<?xml version=\"1.0\"?><svg><title>tip</title></svg>",
		"image/png": "iVBOR\nw0K", "text/plain": "a < b\nc",
	}
	svg := page1(t, codeBook("", shows(all)), Options{})
	contains(t, svg, `<img alt="a &lt; b" src="data:image/svg+xml;base64,`, "!graph TD", "!<title>tip", "!image/png")
	contains(t, page1(t, codeBook("", shows(all)), Options{Trusted: true}), `<div class="body image"><svg><title>tip</title></svg></div>`)
	delete(all, "image/svg+xml")
	o := shows(all)
	o.Metadata = map[string]any{"image/png": map[string]any{"width": json.Number("7"), "height": "x"}}
	contains(t, page1(t, codeBook("", o), Options{}), `<div class="body image">`, `src="data:image/png;base64,iVBORw0K" width="7">`)
	o.Metadata = map[string]any{"image/png": map[string]any{"width": json.Number("480")}}
	contains(t, page1(t, codeBook("", o), Options{}), `<div class="body image wide">`)
	delete(all, "image/png")
	contains(t, page1(t, codeBook("", shows(all)), Options{}), "<pre>a &lt; b\nc</pre>")
	delete(all, "text/plain")
	contains(t, page1(t, codeBook("", shows(all)), Options{}), "An output of type text/vnd.mermaid, which this page cannot show.")
	contains(t, page1(t, codeBook("", shows(map[string]any{"application/json": map[string]any{"a": json.Number("1")}})), Options{}),
		"<pre>{\n  &#34;a&#34;: 1\n}</pre>")
	contains(t, page1(t, codeBook("", shows(map[string]any{"text/markdown": "*x*", "text/plain": "y"})), Options{}), "<em>x</em>", "!<pre>y")
	result := &notebook.Output{Type: notebook.ExecuteResult, ExecutionCount: 3, Data: map[string]any{"text/plain": "7"}}
	contains(t, page1(t, codeBook("", result), Options{}), "Out[3]", "<pre>7</pre>")
	contains(t, page1(t, codeBook("", shows(nil)), Options{}), "!class=\"row output\"")
}

const hostile = `<b onclick="x()" style="color:#123456;position:fixed">b</b><script>alert(1)</script>` +
	`<style>p{}</style><iframe src="x"></iframe><img src="javascript:x"><img src="data:image/png;base64,AAAA">` +
	`<form action="x"><input type="password"></form><details open><summary>s</summary></details><progress value="3" max="4"></progress>`

func TestUntrusted(t *testing.T) {
	for _, nb := range []*notebook.Notebook{
		markdownBook(hostile + "\n\n[l](javascript:x)"),
		codeBook("", shows(map[string]any{"text/html": hostile})),
		codeBook("", shows(map[string]any{"text/markdown": hostile})),
	} {
		contains(t, body(page1(t, nb, Options{})), "!<script", "!onclick", "!position", "!<style", "!<iframe", "!javascript", "!<form", "!password",
			`<b style="color: #123456">b</b>`, `<img src="data:image/png;base64,AAAA"`, "<summary>s</summary>", `<progress value="3" max="4">`)
	}
	for _, o := range []*notebook.Output{
		{Type: notebook.Stream, Name: "stdout", Text: hostile},
		{Type: notebook.Error, ErrorName: hostile, Traceback: []string{hostile}},
		{Type: notebook.Error, ErrorName: hostile, ErrorValue: hostile},
		shows(map[string]any{"image/png": `"><script>`}),
		shows(map[string]any{"image/svg+xml": `<svg onload="x()"><script>alert(1)</script></svg>`}),
		shows(map[string]any{`x/<script>`: ""}),
	} {
		for _, trusted := range []bool{false, o.Data["image/svg+xml"] == nil} {
			contains(t, body(page1(t, codeBook(hostile, o), Options{Trusted: trusted})), "!<script", `!onload="x`, "!<b onclick")
		}
	}
	page := page1(t, markdownBook("x"), Options{})
	contains(t, page, `http-equiv="Content-Security-Policy" content="default-src 'none'`)
	contains(t, page1(t, codeBook("", shows(map[string]any{"text/html": hostile})), Options{Trusted: true}), "<script>alert(1)</script>", "!Content-Security-Policy")
}

// TestSelfContained finds no reference to anything outside the page.
func TestSelfContained(t *testing.T) {
	page := page1(t, codeBook("x", shows(map[string]any{"image/svg+xml": "<svg/>"})), Options{})
	for _, reference := range []string{"<link", "<script", "@import", "url(", "http://", "https://"} {
		contains(t, page, "!"+reference)
	}
}

func TestOutputs(t *testing.T) {
	nb := codeBook("",
		&notebook.Output{Type: notebook.Stream, Name: "stderr", Text: "warn\n"},
		&notebook.Output{Type: notebook.Stream, Name: "stdout", Text: strings.Repeat("x", MaxText) + "yz"},
		&notebook.Output{Type: notebook.Error, ErrorName: "Panic", ErrorValue: "boom", Traceback: []string{"\x1b[31mPanic\x1b[0m: boom"}},
		&notebook.Output{Type: notebook.Error, ErrorName: "Other", ErrorValue: "boom", Traceback: []string{"at 1"}})
	nb.Metadata = map[string]any{"forge": map[string]any{"run": map[string]any{
		"id": "0193", "started": "2026-11-29T21:00:00.000000Z", "kernel": "forge 1", "status": "failed"}}}
	contains(t, page1(t, nb, Options{}), `<div class="body stderr"><pre>warn</pre>`, "\n… 2 more bytes are in the notebook</pre>", "!yz",
		`<pre><span class="fg2">Panic</span>: boom</pre>`, `<p class="summary">Other</p><pre>at 1</pre>`, "!summary\">Panic",
		"<footer>Run 0193 · 2026-11-29 21:00:00 UTC · forge 1 · failed</footer>")
}

func TestTerminal(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a < b & c", "a &lt; b &amp; c"},
		{"\x1b[31mred\x1b[0m plain", `<span class="fg2">red</span> plain`},
		{"\x1b[1;4;92mx\n\x1b[22my\x1b[mz", "<span class=\"fg11 bold underline\">x</span>\n<span class=\"fg11 underline\">y</span>z"},
		{"\x1b[38;5;208;48;2;1;2;3mx", `<span style="color:#ff8700;background-color:#010203">x</span>`},
		{"\x1b[38;5;3mx\x1b[39m\x1b[48;5;250my", `<span class="fg4">x</span><span style="background-color:#bcbcbc">y</span>`},
		{"\x1b[2;3;7;9mx\x1b[23;27;29my\x1b[22mz", `<span class="faint italic struck inverse">x</span><span class="faint">y</span>z`},
		{"\x1b[43;104mx\x1b[49my", `<span class="bg13">x</span>y`},
		{"\x1b[38;5mx\x1b[99my\x1b[38;2;1;2;999mz", "xyz"},
		{"10%\r20%\r30\n", "30%\n"},
		{"abc\b\bX\r\nY", "aXc\nY"},
		{"\x1b[2J\x1b[1;1H\x1b]0;title\x07\x1b]8;;x\x1b\\a\ab\x1b", "ab"},
		{"\x1b[999999999999999999999mx", "x"},
	} {
		if got := terminal(c.text); got != c.want {
			t.Errorf("terminal(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[38;5;208mx\x1b[0m\r\by\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := terminal(text)
		rest := strings.NewReplacer("<span", "", "</span>", "").Replace(got)
		if strings.Contains(rest, "<") {
			t.Errorf("terminal(%q) = %s", text, got)
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n$$\nx\n$$ $y$ ```go\nz\n```")
	f.Add("- $$\n- $$ <script>")
	f.Fuzz(func(t *testing.T, source string) {
		var b strings.Builder
		if err := HTML(&b, markdownBook(source), Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(body(b.String())), "<script") {
			t.Errorf("%q lets a script through:\n%s", source, body(b.String()))
		}
	})
}
