package display

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"strings"

	nethtml "golang.org/x/net/html"

	"forgekernel/display/internal/cells"
)

// noMath are classes of HTML in which MathJax, by its third and second version,
// leaves dollars alone.
const noMath = "mathjax_ignore tex2jax_ignore"

// HTML is a bundle of HTML, with its text as the plain form. Front ends strip
// scripts, style sheets and inline SVG from outputs that they do not trust.
func HTML(s string) Bundle {
	return Bundle{Data: map[string]any{mimeHTML: s, mimeText: htmlText(s)}}
}

// Markdown is a bundle of Markdown; its source is the plain form.
func Markdown(s string) Bundle {
	return Bundle{Data: map[string]any{mimeMarkdown: s, mimeText: s}}
}

// LaTeX is a bundle of LaTeX, delimiters included ("$x^2$"); its source is the
// plain form.
func LaTeX(s string) Bundle {
	return Bundle{Data: map[string]any{mimeLaTeX: s, mimeText: s}}
}

// Mermaid is a bundle of a Mermaid diagram; its source is the plain form.
func Mermaid(s string) Bundle {
	return Bundle{Data: map[string]any{mimeMermaid: s, mimeText: s}}
}

// SVG is a bundle of an SVG image. Front ends show it only in trusted
// notebooks and fall back to the plain form, a short description.
func SVG(s string) Bundle {
	return Bundle{Data: map[string]any{mimeSVG: s, mimeText: fmt.Sprintf("SVG image, %d bytes", len(s))}}
}

// Image is an SVG drawing as a part of an HTML page: an image, which also pages show
// that remove SVG from what they do not trust. Its text describes it.
func Image(svg, text string) string {
	return fmt.Sprintf(`<img alt="%s" style="max-width:100%%" src="data:image/svg+xml;base64,%s">`, html.EscapeString(cells.OneLine(text)), base64.StdEncoding.EncodeToString([]byte(svg)))
}

// PNG is a bundle of an encoded PNG image.
func PNG(b []byte) Bundle {
	text := fmt.Sprintf("PNG image, %d bytes", len(b))
	if c, err := png.DecodeConfig(bytes.NewReader(b)); err == nil {
		text = fmt.Sprintf("PNG image, %d x %d pixels", c.Width, c.Height)
	}
	return Bundle{Data: map[string]any{mimePNG: b, mimeText: text}}
}

// JSON is a bundle of v as JSON, indented in its plain form. A value that JSON
// cannot express shows as the error.
func JSON(v any) Bundle {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ToBundle(fmt.Errorf("display.JSON: %w", err))
	}
	return Bundle{Data: map[string]any{mimeJSON: json.RawMessage(text), mimeText: string(text)}}
}

// htmlText extracts the readable text of HTML: a line for each block, one
// space for each run of white space.
func htmlText(s string) string {
	var lines []string
	var line strings.Builder
	flush := func() {
		if text := strings.Join(strings.Fields(line.String()), " "); text != "" {
			lines = append(lines, text)
		}
		line.Reset()
	}
	hidden := 0
	z := nethtml.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			flush()
			return strings.Join(lines, "\n")
		case nethtml.TextToken:
			if hidden == 0 {
				line.Write(z.Text())
			}
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, _ := z.TagName()
			if isHidden(string(name)) {
				hidden++
			}
			breakAt(string(name), &line, flush)
		case nethtml.EndTagToken:
			name, _ := z.TagName()
			if isHidden(string(name)) && hidden > 0 {
				hidden--
			}
			breakAt(string(name), &line, flush)
		}
	}
}

func isHidden(tag string) bool { return tag == "script" || tag == "style" }

func breakAt(tag string, line *strings.Builder, flush func()) {
	switch tag {
	case "td", "th":
		line.WriteByte(' ')
	case "a", "abbr", "b", "code", "em", "i", "img", "kbd", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "u", "var":
	default:
		flush()
	}
}
