// Package export turns a notebook into a page: one HTML file that needs no
// script and nothing from the network, follows the reader's light or dark
// setting, and prints well.
//
// Of each display it shows the richest form that a browser draws by itself:
// HTML, Markdown, SVG, PNG and other images, LaTeX source, text. What a
// notebook brings is not trusted unless the caller says so: HTML is sanitised,
// SVG is shown as an image, and the page forbids scripts and requests.
package export

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/replace"
)

// MaxText bounds the text of one output in a page, in bytes. What is left out
// is said, and is in the notebook.
const MaxText = 1 << 20

// Options say how.
type Options struct {
	Title string // default: the notebook's title or first heading, else "Notebook"
	// Trusted leaves HTML and SVG of the notebook as they are, scripts included.
	Trusted bool
}

//go:embed page.html
var pageSource string

//go:embed page.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageSource)) })

// page is what the template shows.
type page struct {
	Title    string
	Style    template.CSS
	Confined bool
	Contents []heading
	Cells    []cell
	Closes   int // sections that are open behind the last cell
	Footer   string
}

// cell is one cell, rendered.
type cell struct {
	ID      string
	Kind    notebook.CellType
	Prompt  string // "In [3]:"
	Source  template.HTML
	Folded  bool // source behind a disclosure triangle
	Outputs []output
	// OutputsFolded puts the outputs behind a disclosure triangle.
	OutputsFolded bool
	// Closes is how many collapsed sections end before the cell; Opens says that the
	// cell is the heading of one.
	Closes int
	Opens  bool
}

// output is one output, rendered.
type output struct {
	Class  string // text, stderr, html, image, error, …
	Prompt string // "Out[3]:"
	Body   template.HTML
}

// HTMLFile stores nb as a page at path, whole or not at all.
func HTMLFile(path string, nb *notebook.Notebook, opts Options) error {
	return replace.File(path, func(w io.Writer) error { return HTML(w, nb, opts) })
}

// HTML writes nb as a page.
func HTML(w io.Writer, nb *notebook.Notebook, opts Options) error {
	x := newExporter(nb, opts)
	p := page{Style: template.CSS(style), Confined: !opts.Trusted, Footer: footer(nb)}
	var open sections
	for i, c := range nb.Cells {
		before := len(x.headings)
		rendered, err := x.cell(c)
		if err != nil {
			return fmt.Errorf("%v: %w", nb.Place(i), err)
		}
		if headings := x.headings[before:]; len(headings) > 0 {
			rendered.Closes = open.end(headings[0].Level)
			rendered.Opens = open.begin(headings[0].Level, c)
		}
		p.Cells = append(p.Cells, rendered)
	}
	p.Closes = open.end(0)
	if len(x.headings) > 2 {
		p.Contents = x.headings
	}
	p.Title = title(nb, x.headings, opts.Title)
	return pageTemplate().Execute(w, p)
}

func title(nb *notebook.Notebook, headings []heading, wanted string) string {
	if wanted != "" {
		return wanted
	}
	if s, ok := nb.Metadata["title"].(string); ok && s != "" {
		return s
	}
	if len(headings) > 0 {
		return headings[0].Text
	}
	return "Notebook"
}

// footer says what made the outputs, if the notebook does.
func footer(nb *notebook.Notebook) string {
	ours, _ := nb.Metadata["forge"].(map[string]any)
	run, _ := ours["run"].(map[string]any)
	text := func(name string) string { s, _ := run[name].(string); return s }
	if text("id") == "" {
		return ""
	}
	started, _, _ := strings.Cut(text("started"), ".")
	parts := []string{"Run " + text("id"), strings.Replace(started, "T", " ", 1) + " UTC"}
	if kernel := text("kernel"); kernel != "" {
		parts = append(parts, kernel)
	}
	if status := text("status"); status != "" && status != "ok" {
		parts = append(parts, status)
	}
	return strings.Join(parts, " · ")
}

// exporter turns cells into HTML.
type exporter struct {
	opts     Options
	language string // of code cells without a magic
	markdown *markdown
	headings []heading
}

func newExporter(nb *notebook.Notebook, opts Options) *exporter {
	x := &exporter{opts: opts, language: "go", markdown: newMarkdown()}
	if info, ok := nb.Metadata["language_info"].(map[string]any); ok {
		if name, ok := info["name"].(string); ok {
			x.language = name
		}
	}
	return x
}

func (x *exporter) cell(c *notebook.Cell) (cell, error) {
	out := cell{ID: c.ID, Kind: c.Type}
	switch c.Type {
	case notebook.Markdown:
		body, headings, err := x.markdown.render(c.Source, c.Attachments)
		if err != nil {
			return out, err
		}
		out.Source = x.trust(body)
		x.headings = append(x.headings, headings...)
	case notebook.Raw:
		out.Source = template.HTML("<pre>" + template.HTMLEscapeString(c.Source) + "</pre>")
	case notebook.Code:
		out.Prompt = prompt("In ", c.ExecutionCount)
		out.Source = highlightCell(c.Source, x.language)
		out.Folded = hidden(c, "source_hidden")
		out.OutputsFolded = hidden(c, "outputs_hidden")
		for _, o := range c.Outputs {
			rendered, err := x.output(o)
			if err != nil {
				return out, err
			}
			if rendered.Body != "" {
				out.Outputs = append(out.Outputs, rendered)
			}
		}
	}
	return out, nil
}

func prompt(kind string, count int) string {
	if count == 0 {
		return kind + "[ ]"
	}
	return fmt.Sprintf("%s[%d]", kind, count)
}

// hidden reads one of the switches that Jupyter keeps in a cell's metadata.
func hidden(c *notebook.Cell, name string) bool {
	jupyter, _ := c.Metadata["jupyter"].(map[string]any)
	on, _ := jupyter[name].(bool)
	return on
}
