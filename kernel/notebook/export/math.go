package export

import (
	"bytes"
	"html"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// math is a formula between dollar signs. The page has no typesetter; it shows
// the source as it stands, so that Markdown must not take _ and * in it for
// emphasis.
type math struct {
	ast.BaseInline
	source string // with the dollars
}

var kindMath = ast.NewNodeKind("Math")

// Kind implements ast.Node.
func (*math) Kind() ast.NodeKind { return kindMath }

// Dump implements ast.Node.
func (m *math) Dump(src []byte, level int) {
	ast.DumpHelper(m, src, level, map[string]string{"source": m.source}, nil)
}

// mathExtension adds formulas to goldmark.
type mathExtension struct{}

// Extend implements goldmark.Extender.
func (mathExtension) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(mathParser{}, 150)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(mathRenderer{}, 150)))
}

type mathParser struct{}

// Trigger implements parser.InlineParser.
func (mathParser) Trigger() []byte { return []byte{'$'} }

// Parse implements parser.InlineParser. "$5 and $6" is no formula: its closing
// dollar follows a blank.
func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if bytes.HasPrefix(line, []byte("$$")) {
		return parseDisplay(block)
	}
	for i := 1; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if line[i] != '$' {
			continue
		}
		digit := i+1 < len(line) && line[i+1] >= '0' && line[i+1] <= '9'
		if i == 1 || line[1] == ' ' || line[i-1] == ' ' || digit {
			return nil
		}
		block.Advance(i + 1)
		return &math{source: string(line[:i+1])}
	}
	return nil
}

// parseDisplay reads up to the next $$, over the lines of the paragraph.
func parseDisplay(block text.Reader) ast.Node {
	startLine, startPos := block.Position()
	var source []byte
	skip := 2
	for {
		line, _ := block.PeekLine()
		if line == nil {
			block.SetPosition(startLine, startPos)
			return nil
		}
		if end := bytes.Index(line[skip:], []byte("$$")); end >= 0 {
			end += skip + 2
			block.Advance(end)
			return &math{source: string(append(source, line[:end]...))}
		}
		source = append(source, line...)
		skip = 0
		block.AdvanceLine()
	}
}

type mathRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (mathRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMath, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(`<span class="math">` + html.EscapeString(n.(*math).source) + "</span>")
		}
		return ast.WalkContinue, nil
	})
}
