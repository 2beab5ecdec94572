package cell

import (
	"strings"
	"unicode/utf8"

	"forgekernel/forge/script"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
)

// Inspect describes the name at a cursor, which counts code points.
func (in *Interp) Inspect(code string, cursor, detail int) link.InspectReply {
	offset := byteOffset(code, cursor)
	at := locate(code, offset)
	switch at.kind {
	case inMagic:
		line, _, _ := strings.Cut(code[at.start:], "\n")
		if text, found := in.inspectMagic(line, len(at.text), detail); found {
			return described(text)
		}
	case inDirective:
		line, _, _ := strings.Cut(code[at.start:], "\n")
		if d, ok := parseHelp(strings.TrimRight(line, " \t\r")); ok {
			text, found := in.describe(d.name, detail)
			return link.InspectReply{Found: found, Data: plain(text, found)}
		}
	case inCode:
		if i, found := in.inspectCode(at, detail); found {
			return described(inspected(i, detail))
		}
	}
	return link.InspectReply{}
}

// inspectMagic describes a magic, or what the cursor touches in the Go code behind it.
func (in *Interp) inspectMagic(line string, offset, detail int) (string, bool) {
	name, rest := cutName(strings.TrimLeft(line, "%"))
	m := lookup(name)
	if m == nil {
		return "", false
	}
	if before := len(line) - len(rest); m.expr && offset > before {
		if i, found := in.inspectGo(rest, offset-before, detail); found {
			return inspected(i, detail), true
		}
	}
	return m.help(), true
}

func (in *Interp) inspectCode(at place, detail int) (gocell.Inspection, bool) {
	if at.lang == ForgeScript {
		return in.inspectForgeScriptAt(at.source, at.offset)
	}
	return in.inspectGo(at.source, at.offset, detail)
}

// inspectForgeScriptAt describes the name at a place of ForgeScript. Where it is none
// that is known, such as that of a tensor, it is the function that is called there.
func (in *Interp) inspectForgeScriptAt(source string, offset int) (gocell.Inspection, bool) {
	if i, found := in.inspectForgeScript(script.NameAt(source, pointOffset(source, offset))); found {
		return i, true
	}
	before := strings.TrimRightFunc(source[:offset], isNameRune)
	return in.inspectForgeScript(script.NameAt(before, pointOffset(before, len(before))))
}

// inspectGo describes a name in Go. Of a variable that holds a ForgeScript
// function it tells what ForgeScript knows.
func (in *Interp) inspectGo(source string, offset, detail int) (gocell.Inspection, bool) {
	i, found := in.golang.Inspect(source, offset, detail)
	if name, isFunction := strings.CutSuffix(i.Signature, " "+functionType); isFunction {
		if f, known := in.inspectForgeScript(strings.TrimPrefix(name, "var ")); known {
			f.Methods, f.Call = i.Methods, i.Call
			return f, true
		}
	}
	return i, found
}

func described(text string) link.InspectReply {
	return link.InspectReply{Found: true, Data: plain(text, true)}
}

func plain(text string, found bool) map[string]any {
	if !found {
		return nil
	}
	return map[string]any{"text/plain": text}
}

// describe is what name? shows.
func (in *Interp) describe(name string, detail int) (string, bool) {
	if bare := strings.TrimLeft(name, "%"); bare != name {
		m := lookup(bare)
		if m == nil {
			return "", false
		}
		return m.help(), true
	}
	var texts []string
	i, found := in.inspectGo(name, len(name), detail)
	if found {
		texts = append(texts, inspected(i, detail))
	}
	if f, known := in.inspectForgeScript(name); known && f.Signature != i.Signature {
		texts = append(texts, inspected(f, detail))
	}
	return strings.Join(texts, "\n"), texts != nil
}

// inspected writes an inspection as text. Documentation of a package's names
// begins with their declaration, which then stands for the signature.
func inspected(i gocell.Inspection, detail int) string {
	var sections []string
	keyword, _, _ := strings.Cut(i.Signature, " ")
	if i.Signature != "" && !strings.HasPrefix(i.Doc, keyword+" ") {
		sections = append(sections, i.Signature)
	}
	if i.Value != "" {
		sections = append(sections, "Value: "+i.Value)
	}
	if i.Doc != "" {
		sections = append(sections, folded(i.Doc))
	}
	if len(i.Methods) > 0 {
		sections = append(sections, methods(i.Methods, detail))
	}
	if i.Defined != "" {
		sections = append(sections, definedIn(i.Defined))
	}
	if i.Call != "" && i.Call != i.Signature {
		sections = append(sections, "Argument of "+i.Call+".")
	}
	if detail > 0 && i.Source != "" {
		sections = append(sections, i.Source)
	}
	return strings.Join(sections, "\n\n") + "\n"
}

func definedIn(place string) string {
	if place == "the language" {
		return "Part of the language."
	}
	return "Defined in " + place + "."
}

// methods lists methods by name or, with more detail, as they are declared.
func methods(list []string, detail int) string {
	if detail > 0 {
		return "Methods:\n    " + strings.Join(list, "\n    ")
	}
	var b strings.Builder
	width := 0
	for i, m := range list {
		name, _, _ := strings.Cut(m, "(")
		switch {
		case i == 0:
			width, _ = b.WriteString("Methods:")
		case width+len(name)+3 > textWidth: // with a comma on both sides, and a blank
			b.WriteString(",\n   ")
			width = 3
		default:
			b.WriteByte(',')
			width++
		}
		b.WriteString(" " + name)
		width += 1 + len(name)
	}
	return b.String() + "."
}

// textWidth is how wide lines of help are, in columns.
const textWidth = 78

// wrapped breaks lines of help between words; those after the first stand behind a margin,
// as the first does.
func wrapped(text, margin string) string {
	var b strings.Builder
	width := len(margin)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+utf8.RuneCountInString(word) > textWidth:
			b.WriteString("\n" + margin)
			width = len(margin)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += utf8.RuneCountInString(word)
	}
	return b.String()
}

// folded breaks the lines of a text that are too wide, and leaves all others as they are.
func folded(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if utf8.RuneCountInString(line) > textWidth+2 { // the width of Go's own documentation
			margin := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
			lines[i] = margin + wrapped(line, margin)
		}
	}
	return strings.Join(lines, "\n")
}

// help is a name? line.
func (t *task) help(d directive) Outcome {
	text, found := t.in.describe(d.name, d.detail)
	if !found {
		return Outcome{Err: t.usage(d, "", "nothing is called %s", d.name)}
	}
	page := link.Payload{Source: "page", Data: map[string]any{"text/plain": text}}
	return Outcome{Payload: []link.Payload{page}}
}

// IsComplete says whether a cell can run as it stands.
func (in *Interp) IsComplete(code string) link.IsCompleteReply {
	p := split(code)
	for p.magic != nil {
		m := lookup(p.magic.name)
		if m == nil || m.form&onCell == 0 {
			return link.IsCompleteReply{Status: "invalid"}
		}
		if !m.code { // the body is a text, which an empty line ends
			return completeIf(strings.HasSuffix(code, "\n"))
		}
		p = p.inner()
		p.lang = m.lang
		if strings.TrimSpace(p.body) == "" && p.magic == nil && len(p.directives) == 0 {
			return completeIf(false)
		}
	}
	if strings.TrimSpace(p.body) == "" {
		last := len(p.directives) - 1
		return completeIf(last < 0 || !strings.HasSuffix(p.directives[last].args, `\`))
	}
	if p.language() == ForgeScript {
		status, indent := script.Completeness(p.body)
		return link.IsCompleteReply{Status: string(status), Indent: indent}
	}
	status, indent := in.golang.Completeness(p.body[p.line-1:])
	return link.IsCompleteReply{Status: status, Indent: indent}
}

func completeIf(yes bool) link.IsCompleteReply {
	if yes {
		return link.IsCompleteReply{Status: "complete"}
	}
	return link.IsCompleteReply{Status: "incomplete"}
}
