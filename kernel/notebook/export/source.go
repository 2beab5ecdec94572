package export

import (
	"html/template"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
)

// formatter writes spans with classes, which the page's style sheet colours.
var formatter = html.New(html.WithClasses(true), html.PreventSurroundingPre(true), html.TabWidth(4))

// noStyle is what the formatter wants although classes make it need none. The
// library's own styles are all read when a program starts that knows them.
var noStyle = chroma.MustNewStyle("none", nil)

// highlightCell colours a code cell, whose first line may be a cell magic that
// sets the language of the others.
func highlightCell(source, language string) template.HTML {
	head, body, cut := strings.Cut(source, "\n")
	if !strings.HasPrefix(head, "%%") {
		return highlight(source, cellLanguage(source, language))
	}
	magic := template.HTML(`<span class="magic">` + template.HTMLEscapeString(head) + "</span>")
	if !cut {
		return magic
	}
	return magic + "\n" + highlight(body, magicLanguage(head, body, language))
}

// cellLanguage tells ForgeScript, which is close enough to Python, from Go.
func cellLanguage(source, language string) string {
	if language != "go" {
		return language
	}
	for line := range strings.SplitSeq(source, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%") {
			continue
		}
		if strings.HasPrefix(line, "def ") {
			return "python"
		}
		if strings.HasPrefix(line, "!") {
			return "bash"
		}
		break
	}
	return language
}

func magicLanguage(head, body, language string) string {
	fields := strings.Fields(head)
	switch fields[0] {
	case "%%forge":
		return "python"
	case "%%bash", "%%sh":
		return "bash"
	case "%%go", "%%gobuild":
		return "go"
	case "%%writefile":
		return fileLanguage(fields[len(fields)-1])
	}
	return cellLanguage(body, language)
}

func fileLanguage(name string) string {
	if path.Ext(name) == ".fs" { // ForgeScript; to chroma it is F# or Forth
		return "python"
	}
	if lexer := lexers.Match(name); lexer != nil {
		return lexer.Config().Name
	}
	return "text"
}

// highlight colours source; a language that chroma does not know stays plain.
func highlight(source, language string) template.HTML {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	it, err := lexer.Tokenise(nil, source)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(source))
	}
	tokens := it.Tokens()
	for i, t := range tokens {
		if !coloured(t.Type) {
			tokens[i].Type = chroma.Text
		}
	}
	var b strings.Builder
	if err := formatter.Format(&b, noStyle, chroma.Literator(tokens...)); err != nil {
		return template.HTML(template.HTMLEscapeString(source))
	}
	return template.HTML(strings.TrimSuffix(b.String(), "\n"))
}

// coloured reports whether the style sheet has a colour for a kind of token.
// All others need no span.
func coloured(t chroma.TokenType) bool {
	switch t {
	case chroma.NameFunction, chroma.NameFunctionMagic, chroma.NameBuiltin, chroma.NameBuiltinPseudo,
		chroma.NameClass, chroma.NameException, chroma.NameNamespace, chroma.NameVariable, chroma.OperatorWord:
		return true
	}
	return t.InCategory(chroma.Keyword) || t.InCategory(chroma.Literal) || t.InCategory(chroma.Comment)
}
