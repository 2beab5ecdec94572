package display

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/palette"
)

// Source is a listing of program text. Lang names its language: "c", "cuda",
// "wgsl", "triton", "python", "go", "forgescript", "ir", or any other name
// that the highlighter knows; an unknown one is shown without colours.
type Source struct {
	Lang      string
	Code      string
	Name      string // file or kernel name shown above the listing; may be empty
	First     int    // the number of the first line; 0 is 1
	Highlight []int  // numbers of lines to mark
	Links     []Link
}

// Link ties lines to what they implement, such as a node of a graph: a label in the
// colour of its class stands beside the first of them, a stripe beside all.
type Link struct {
	First, Last int // by their numbers
	Label       string
	Class       Class
	Tip         string // shown on hovering
}

// monospace is for <pre>, which some pages leave in their own font.
const monospace = "SFMono-Regular,Menlo,Consolas,monospace"

// Limits of a listing.
const (
	foldedLines      = 40        // longer listings open on request
	highlightedBytes = 256 << 10 // longer ones have no colours
)

// Display shows the listing with line numbers and colours, and as plain text.
// The colours are inline on a light ground of its own, so it reads well on
// pages of any theme.
func (s Source) Display() Bundle {
	return Bundle{Data: map[string]any{mimeHTML: s.html(), mimeText: s.Code}}
}

const preStyle = "font-family:" + monospace + ";background-color:#f6f8fa;color:#24292f;border:1px solid #d0d7de;border-radius:6px;" +
	"padding:10px 12px;margin:4px 0;overflow:auto;max-height:560px;font-size:12px;line-height:1.45;white-space:pre"

func (s Source) html() string {
	lines := s.lines()
	var b strings.Builder
	fold := len(lines) > foldedLines
	size := Count(len(lines), "line")
	switch {
	case fold:
		fmt.Fprintf(&b, `<details><summary class="`+noMath+`">%s</summary>`+"\n", html.EscapeString(strings.TrimPrefix(cells.OneLine(s.Name)+", "+size, ", ")))
	case s.Name != "":
		fmt.Fprintf(&b, `<div class="`+noMath+`" style="font-size:12px;font-weight:600">%s</div>`+"\n", html.EscapeString(cells.OneLine(s.Name)))
	}
	b.WriteString(`<pre style="` + preStyle + `">`)
	first := max(1, s.First)
	digits := len(strconv.Itoa(first + len(lines) - 1))
	tip := ""
	for i, line := range lines {
		tip = s.tip(&b, tip, first+i)
		b.WriteString(s.margin(first + i))
		number := fmt.Sprintf("%*d", digits, first+i)
		if slices.Contains(s.Highlight, first+i) {
			fmt.Fprintf(&b, `<span style="color:#9a6700;user-select:none"><b>%s</b> </span> <span style="background-color:#fff1a8">%s</span>`+"\n", number, line)
			continue
		}
		fmt.Fprintf(&b, `<span style="color:#8c959f;user-select:none">%s </span> %s`+"\n", number, line)
	}
	s.tip(&b, tip, 0)
	b.WriteString("</pre>")
	if fold {
		b.WriteString("</details>")
	}
	return b.String()
}

// linkCells is the longest label of a link.
const linkCells = 12

// link is the first one that a line belongs to; nil if there is none.
func (s Source) link(line int) *Link {
	for i := range s.Links {
		if l := &s.Links[i]; l.First <= line && line <= l.Last {
			return l
		}
	}
	return nil
}

// tip ends the span whose hover text is open and begins that of a line, where the two
// differ: lines that implement one thing have one span around them. It returns what is open.
func (s Source) tip(b *strings.Builder, open string, line int) string {
	tip := ""
	if l := s.link(line); l != nil {
		tip = l.Tip
	}
	if tip == open {
		return open
	}
	if open != "" {
		b.WriteString("</span>")
	}
	if tip != "" {
		fmt.Fprintf(b, `<span title="%s">`, html.EscapeString(tip))
	}
	return tip
}

// margin is what stands before the number of a line: what the line implements.
func (s Source) margin(line int) string {
	width := 0
	for _, l := range s.Links {
		width = max(width, cells.Width(cells.Short(l.Label, linkCells)))
	}
	if width == 0 {
		return ""
	}
	l := s.link(line)
	if l == nil {
		return strings.Repeat(" ", width+3)
	}
	t := Light.palette().Tint(string(l.Class))
	label := ""
	if line == l.First {
		label = cells.Short(l.Label, linkCells)
	}
	return fmt.Sprintf(`<span style="background-color:%s;color:%s;user-select:none">%s </span><span style="background-color:%s;user-select:none"> </span> `,
		palette.Hex(t.Fill), palette.Hex(t.Text), html.EscapeString(cells.PadRight(label, width)), palette.Hex(t.Stroke))
}

// lines is the listing line by line, as HTML.
func (s Source) lines() []string {
	code := strings.TrimRight(strings.ReplaceAll(s.Code, "\r\n", "\n"), "\n")
	if code == "" {
		return []string{""}
	}
	var out []string
	for _, line := range s.tokens(code) {
		var b strings.Builder
		for _, t := range line {
			b.WriteString(s.coloured(t))
		}
		out = append(out, b.String())
	}
	return out
}

// tokens splits code into lines of tokens. Code that is too long, of an unknown
// language, or on which a lexer's patterns exceed their time stays whole.
func (s Source) tokens(code string) [][]chroma.Token {
	if lexer := lexerFor(s.Lang); lexer != nil && len(code) <= highlightedBytes {
		if tokens, err := chroma.Tokenise(chroma.Coalesce(lexer), nil, code); err == nil {
			return chroma.SplitTokensIntoLines(tokens)
		}
	}
	return chroma.SplitTokensIntoLines([]chroma.Token{{Type: chroma.Text, Value: code}})
}

// coloured is a token in its colour; white space needs none.
func (s Source) coloured(t chroma.Token) string {
	value := strings.TrimRight(t.Value, "\n")
	hex, ok := tokenColour(t.Type)
	if s.Lang == "cuda" && cudaWords[value] {
		hex, ok = tokenColour(chroma.Keyword)
	}
	if !ok || strings.TrimSpace(value) == "" {
		return sourceText(value)
	}
	return `<span style="color:` + hex + `">` + sourceText(value) + "</span>"
}

func sourceText(s string) string {
	s = strings.ReplaceAll(s, "\t", "    ")
	return html.EscapeString(strings.Map(cells.Visible, s))
}

// lexerFor returns the lexer of a language, or nil.
func lexerFor(lang string) chroma.Lexer {
	switch lang {
	case "ir":
		return irLexer
	case "cuda":
		lang = "c++" // whose lexer differs from CUDA's by a few words
	case "triton", "forgescript":
		lang = "python" // of which both are subsets
	}
	return lexers.Get(lang)
}

// cudaWords are the words that CUDA adds to C++.
var cudaWords = map[string]bool{
	"__global__": true, "__device__": true, "__host__": true, "__shared__": true, "__constant__": true,
	"__restrict__": true, "__launch_bounds__": true, "__forceinline__": true, "__syncthreads": true,
	"threadIdx": true, "blockIdx": true, "blockDim": true, "gridDim": true, "warpSize": true,
}

// tokenColours gives the colour of token types and, for those not listed, of
// their sub-categories and categories.
var tokenColours = map[chroma.TokenType]string{
	chroma.Comment:        "#6e7781",
	chroma.CommentPreproc: "#8250df",
	chroma.Keyword:        "#cf222e",
	chroma.KeywordType:    "#953800",
	chroma.LiteralString:  "#0a3069",
	chroma.LiteralNumber:  "#0550ae",
	chroma.NameFunction:   "#8250df",
	chroma.NameBuiltin:    "#8250df",
	chroma.NameClass:      "#953800",
	chroma.NameDecorator:  "#8250df",
	chroma.NameAttribute:  "#116329",
	chroma.NameVariable:   "#0550ae",
	chroma.NameConstant:   "#0550ae",
	chroma.OperatorWord:   "#cf222e",

	chroma.GenericDeleted:    "#cf222e",
	chroma.GenericInserted:   "#116329",
	chroma.GenericHeading:    "#6e7781",
	chroma.GenericSubheading: "#6e7781",
}

func tokenColour(t chroma.TokenType) (string, bool) {
	for _, t := range []chroma.TokenType{t, t.SubCategory(), t.Category()} {
		if hex, ok := tokenColours[t]; ok {
			return hex, true
		}
	}
	return "", false
}
