package explain

import (
	"regexp"
	"strings"

	"forgekernel/forge/ir"
)

// irLine is one line of a snapshot's listing.
type irLine struct {
	code   string
	key    string // of the value that it defines; empty for none
	scope  string // what goes before the names on it: "" or "h/" in the body of %h
	places []ir.Pos
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
	places := placesOf(g, "")
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
			l.places = places[l.key]
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

// placesOf maps the key of every value to its places in the source.
func placesOf(g *ir.Graph, scope string) map[string][]ir.Pos {
	places := make(map[string][]ir.Pos)
	for _, v := range g.Inputs {
		places[scope+v.Name] = known([]ir.Pos{v.InputPos})
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			places[scope+v.Name] = known(n.Pos)
		}
		if n.Body == nil {
			continue
		}
		for key, list := range placesOf(n.Body, scope+n.Out[0].Name+"/") {
			places[key] = list
		}
	}
	return places
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
