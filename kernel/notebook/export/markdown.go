package export

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	mdhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is an entry of the table of contents.
type heading struct {
	Level    int
	ID, Text string
}

// contentsDepth is the deepest level of heading in the table of contents.
const contentsDepth = 3

// markdown renders the Markdown cells of one page, whose headings share one
// set of anchors. Raw HTML passes through; the caller sanitises the result.
type markdown struct {
	goldmark goldmark.Markdown
	anchors  map[string]int
}

func newMarkdown() *markdown {
	m := &markdown{anchors: map[string]int{}}
	m.goldmark = goldmark.New(
		goldmark.WithExtensions(extension.GFM, mathExtension{}),
		goldmark.WithRendererOptions(mdhtml.WithUnsafe(),
			renderer.WithNodeRenderers(util.Prioritized(codeRenderer{}, 100))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	return m
}

// render turns Markdown into HTML and lists its headings.
func (m *markdown) render(source string, attachments map[string]any) (string, []heading, error) {
	src := []byte(source)
	doc := m.goldmark.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(m))))
	var headings []heading
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok && n.Level <= contentsDepth {
				headings = append(headings, heading{n.Level, string(id.([]byte)), inlineText(n, src)})
			}
		case *ast.Image:
			if name, ok := strings.CutPrefix(string(n.Destination), "attachment:"); ok {
				n.Destination = []byte(attachmentURL(attachments, name))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := m.goldmark.Renderer().Render(&b, src, doc); err != nil {
		return "", nil, err
	}
	return b.String(), headings, nil
}

// Generate implements parser.IDs: a heading's anchor is made of its words.
func (m *markdown) Generate(value []byte, _ ast.NodeKind) []byte {
	words := strings.FieldsFunc(strings.ToLower(string(value)), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	anchor := strings.Join(words, "-")
	if anchor == "" {
		anchor = "section"
	}
	m.anchors[anchor]++
	if n := m.anchors[anchor]; n > 1 {
		return m.Generate(fmt.Appendf(nil, "%s-%d", anchor, n), ast.KindHeading)
	}
	return []byte(anchor)
}

// Put implements parser.IDs.
func (m *markdown) Put(value []byte) { m.anchors[string(value)]++ }

// inlineText is the text of a heading without its markup.
func inlineText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(src))
		case *ast.String:
			b.Write(c.Value)
		case *math:
			b.WriteString(c.source)
		default:
			b.WriteString(inlineText(c, src))
		}
	}
	return html.UnescapeString(b.String())
}

// attachmentURL embeds an image that is attached to the cell.
func attachmentURL(attachments map[string]any, name string) string {
	bundle, _ := attachments[name].(map[string]any)
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"} {
		if content, ok := bundle[mime].(string); ok {
			return "data:" + mime + ";base64," + strings.Join(strings.Fields(content), "")
		}
	}
	return ""
}

// codeRenderer colours fenced code.
type codeRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		block := n.(*ast.FencedCodeBlock)
		var code strings.Builder
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			code.Write(line.Value(src))
		}
		language := "text"
		if l := block.Language(src); l != nil {
			language = fenceLanguage(string(l))
		}
		_, err := fmt.Fprintf(w, "<pre class=\"code\">%s</pre>\n", highlight(code.String(), language))
		return ast.WalkSkipChildren, err
	})
}

func fenceLanguage(name string) string {
	if name == "forgescript" || name == "forge" || name == "fs" {
		return "python"
	}
	return name
}
