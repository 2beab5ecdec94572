package cell

import (
	"cmp"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
)

// maxMatches bounds what completion offers of a large directory or PATH.
const maxMatches = 500

// Complete lists completions at a cursor, which counts code points.
func (in *Interp) Complete(code string, cursor int) link.CompleteReply {
	offset := byteOffset(code, cursor)
	at := locate(code, offset)
	var c completion
	switch at.kind {
	case inMagic:
		c = in.completeMagic(at)
	case inShell:
		c = completeCommand(at.text)
	case inDirective:
		c = in.completeName(at.text)
	case inCode:
		c = in.completeCode(at)
		c.start += offset - at.offset - at.start // offsets of c count from the line's start
		c.end += offset - at.offset - at.start
	}
	cursor = pointOffset(code, offset) // within the cell, wherever the client's is
	reply := link.CompleteReply{Matches: c.matches, Start: cursor, End: cursor}
	if reply.Matches == nil {
		reply.Matches = []link.Match{}
	}
	if len(c.matches) > 0 {
		reply.Start, reply.End = pointOffset(code, at.start+c.start), pointOffset(code, at.start+c.end)
	}
	return reply
}

// completion replaces bytes start to end of the cursor's line.
type completion struct {
	matches    []link.Match
	start, end int
}

// completeCode completes code; its offsets count from the start of the source.
func (in *Interp) completeCode(at place) completion {
	if at.lang == ForgeScript {
		return in.completeForgeScript(at.source, at.offset)
	}
	return in.completeGo(at.source, at.offset)
}

func (in *Interp) completeGo(source string, offset int) completion {
	got := in.golang.Complete(source, offset)
	c := completion{start: got.Start, end: got.End}
	if got.File {
		return completeString(source[got.Start:offset], got)
	}
	for _, m := range got.Candidates {
		c.matches = append(c.matches, link.Match{Text: m.Text, Type: m.Kind, Signature: m.Signature})
	}
	return c
}

// completeString completes a file name in a string of Go. A text without a slash may be
// anything.
func completeString(text string, got gocell.Completion) completion {
	slash := strings.LastIndexByte(text, '/') + 1
	c := completion{start: got.Start + slash, end: got.End}
	if slash == 0 || strings.ContainsAny(text, "\"\\\n") {
		return c
	}
	c.matches = fileNames(text[:slash], text[slash:], func(name string) string { return name })
	return c
}

// completeName completes the name of a help line.
func (in *Interp) completeName(text string) completion {
	start := len(text) - len(strings.TrimLeft(text, "? \t"))
	c := in.completeGo(text[start:], len(text)-start)
	c.start += start
	c.end += start
	return c
}

// completeMagic completes a magic's name, its flags and their values, and its
// arguments.
func (in *Interp) completeMagic(at place) completion {
	name := strings.TrimLeft(at.text, "%")
	signs := len(at.text) - len(name)
	end := strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		return completeMagicName(at, name, signs)
	}
	m := lookup(name[:end])
	if m == nil {
		return completion{}
	}
	if m.expr {
		source := strings.Repeat(" ", signs+end) + name[end:]
		return in.completeGo(source, len(source))
	}
	word := lastWord(at.text)
	c := completion{start: len(at.text) - len(word), end: len(at.text)}
	if f := m.flag(previousFlag(at.text, word)); f != nil && f.value != "" {
		c.start += strings.LastIndexByte(word, ',') + 1
		c.matches = matching(f.values, at.text[c.start:])
		return c
	}
	switch {
	case strings.HasPrefix(word, "-"):
		for _, f := range m.flags {
			if strings.HasPrefix(f.dashed(), word) {
				c.matches = append(c.matches, link.Match{Text: f.dashed(), Signature: f.value})
			}
		}
	case m.files:
		return completePath(at.text)
	case m.words != nil:
		c.matches = matching(m.words(in, strings.Fields(at.text[:c.start])), word)
	}
	return c
}

// completeMagicName offers magics for lines and, on the first line of a cell,
// for the whole cell.
func completeMagicName(at place, prefix string, signs int) completion {
	c := completion{end: len(at.text)}
	for _, m := range magics {
		if !strings.HasPrefix(m.name, prefix) {
			continue
		}
		if m.form&onLine != 0 && signs == 1 {
			c.matches = append(c.matches, link.Match{Text: "%" + m.name, Type: "magic", Signature: m.usage(lineMagic)})
		}
		if m.form&onCell != 0 && (signs == 2 || at.line == 1) {
			c.matches = append(c.matches, link.Match{Text: "%%" + m.name, Type: "magic", Signature: m.usage(cellMagic)})
		}
	}
	return c
}

// lastWord is what stands between the last blank of text and its end.
func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \t")+1:]
}

// previousFlag is the flag whose value the last word is, or begins to be.
func previousFlag(text, word string) string {
	before := strings.Fields(strings.TrimSuffix(text, word))
	if len(before) == 0 || !strings.HasPrefix(before[len(before)-1], "-") {
		return ""
	}
	return strings.TrimLeft(before[len(before)-1], "-")
}

func matching(all []string, prefix string) []link.Match {
	var list []link.Match
	for _, s := range all {
		if strings.HasPrefix(s, prefix) {
			list = append(list, link.Match{Text: s})
		}
	}
	return list
}

// completeCommand completes a command line: programs at its start, paths
// elsewhere.
func completeCommand(text string) completion {
	word := strings.TrimLeft(lastWord(text), "!")
	if strings.TrimLeft(text, "! \t") != word || strings.Contains(word, "/") {
		return completePath(text)
	}
	c := completion{start: len(text) - len(word), end: len(text)}
	if word == "" {
		return c
	}
	seen := make(map[string]bool)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), word) && !seen[e.Name()] && len(c.matches) < maxMatches {
				seen[e.Name()] = true
				c.matches = append(c.matches, link.Match{Text: e.Name(), Type: "path"})
			}
		}
	}
	sort.Slice(c.matches, func(i, j int) bool { return c.matches[i].Text < c.matches[j].Text })
	return c
}

// completePath completes the file name that text ends with. Blanks in names
// are written with a backslash before them.
func completePath(text string) completion {
	start := len(text)
	for start > 0 && (text[start-1] != ' ' && text[start-1] != '\t' || start > 1 && text[start-2] == '\\') {
		start--
	}
	start += len(text[start:]) - len(strings.TrimLeft(text[start:], "!"))
	word := text[start:]
	slash := strings.LastIndexByte(word, '/') + 1
	dir, prefix := word[:slash], unescape(word[slash:])
	c := completion{start: start + slash, end: len(text)}
	c.matches = fileNames(unescape(dir), prefix, func(name string) string { return strings.ReplaceAll(name, " ", `\ `) })
	return c
}

// fileNames lists the files of a directory that begin with a prefix, as written tells.
func fileNames(dir, prefix string, written func(name string) string) []link.Match {
	dir, err := expandHome(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	var list []link.Match
	for _, e := range entries {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".")
		if hidden || !strings.HasPrefix(name, prefix) || len(list) == maxMatches {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			name += "/"
		}
		list = append(list, link.Match{Text: written(name), Type: "path"})
	}
	return list
}

func unescape(s string) string { return strings.ReplaceAll(s, `\ `, " ") }
