package explain

import (
	"maps"
	"regexp"
	"strings"

	"forgekernel/forge/ir"
)

// irLine is one line of a snapshot's listing.
type irLine struct {
	code  string
	key   string // of the value that it defines; empty for none
	scope string // what goes before the names on it: "" or "h/" in the body of %h
	made         // how the value was made
}

// made is where a value comes from in the source, and by what kind of operator.
type made struct {
	places []ir.Pos
	class  ir.Class
	input  bool // it is given, not made
}

// keyOf identifies a value in all snapshots: "h", or "h/0" in the body of a
// fused node.
func (l irLine) keyOf(name string) string { return l.scope + name }

// bodyParams is where the parameters of a body begin on the first line of a
// fused node, or the length of any other line.
func (l irLine) bodyParams() int {
	if i := strings.Index(l.code, " (%"); i >= 0 && l.key != "" && strings.HasSuffix(l.code, "{") {
		return i
	}
	return len(l.code)
}

var (
	definition = regexp.MustCompile(`^( +)%([\pL\pN_]+): `)
	valueName  = regexp.MustCompile(`%[\pL\pN_]+`)
)

// linesOf takes the listing of a graph apart.
func linesOf(g *ir.Graph) []irLine {
	making := makingOf(g, "")
	var lines []irLine
	fused := "" // the key of the node whose body the listing is in
	for _, text := range strings.Split(strings.TrimRight(g.Listing(), "\n"), "\n") {
		code, _, _ := strings.Cut(text, "  # ")
		l := irLine{code: strings.TrimRight(code, " ")}
		inBody := strings.HasPrefix(text, "    ") && fused != ""
		if inBody {
			l.scope = fused + "/"
		}
		if m := definition.FindStringSubmatch(text); m != nil && (inBody || len(m[1]) == 2) {
			l.key = l.keyOf(m[2])
			l.made = making[l.key]
			if !inBody && strings.HasSuffix(l.code, "{") {
				fused = m[2]
			}
		}
		if strings.TrimSpace(text) != "" && !inBody && strings.HasPrefix(text, "  }") {
			fused = ""
		}
		lines = append(lines, l)
	}
	return lines
}

// makingOf maps the key of every value to how it was made.
func makingOf(g *ir.Graph, scope string) map[string]made {
	making := make(map[string]made)
	for _, v := range g.Inputs {
		making[scope+v.Name] = made{places: known([]ir.Pos{v.InputPos}), input: true}
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			making[scope+v.Name] = made{places: known(n.Pos), class: n.Op.Class}
		}
		if n.Body != nil {
			maps.Copy(making, makingOf(n.Body, scope+n.Out[0].Name+"/"))
		}
	}
	return making
}

func known(list []ir.Pos) []ir.Pos {
	var out []ir.Pos
	for _, p := range list {
		if p.IsKnown() {
			out = append(out, p)
		}
	}
	return out
}
