package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
)

// Some places complete in their own way: import paths, the fields of a struct in a
// literal, and labels.

// importPath matches what stands before the cursor in an import path; the last
// group is the part of the path that is there.
var importPath = regexp.MustCompile("(?s)(?:^|\\n)[ \\t]*import[ \\t]*(?:\\([^()]*?)?(?:[\\w.]+[ \\t]+)?[\"`]([\\w./-]*)$")

// completeImport completes an import path.
func (s *Session) completeImport(src string, offset int) (Completion, bool) {
	m := importPath.FindStringSubmatch(src[:offset])
	if m == nil {
		return Completion{}, false
	}
	end := offset
	for end < len(src) && (isNameRune(rune(src[end])) || strings.IndexByte("/.-", src[end]) >= 0) {
		end++
	}
	set := candidates{found: map[string]Candidate{}}
	for _, path := range slices.Concat(hostpkg.Paths(), s.modulePaths()) {
		set.add(Candidate{Text: path, Kind: "module"})
	}
	return Completion{Candidates: set.matching(m[1]), Start: offset - len(m[1]), End: end}, true
}

// literalFields adds the fields that the struct literal around the cursor may
// still name.
func (c *check) literalFields(offset int, set *candidates) {
	path := c.at(offset)
	for i := len(path) - 1; i > 0; i-- {
		lit, ok := path[i].(*ast.CompositeLit)
		if !ok {
			continue
		}
		t := c.info.Types[lit].Type
		if t == nil || !isKeyPosition(path[i+1:]) {
			return
		}
		if p, isPointer := t.Underlying().(*types.Pointer); isPointer {
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}
		given := map[string]bool{}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					given[id.Name] = true
				}
			}
		}
		for f := range s.Fields() {
			if cand := candidate(f); visible(f) && !given[f.Name()] {
				cand.Kind = "field"
				set.addRanked(rankFirst, cand)
			}
		}
		return
	}
}

// isKeyPosition reports whether the nodes within a literal lead to the cursor as a
// key, or as an element that may become one.
func isKeyPosition(inside []ast.Node) bool {
	if len(inside) == 2 {
		kv, ok := inside[0].(*ast.KeyValueExpr)
		return ok && kv.Key == inside[1]
	}
	return len(inside) == 1
}

// labels adds the labels that a jump at an offset may name: those of the statements
// around it, or of its function for goto.
func (c *check) labels(offset int, set *candidates) bool {
	list, _ := scan(c.src.Text)
	i := slices.IndexFunc(list, func(l lexeme) bool { return l.from == offset })
	if i < 1 {
		return false
	}
	jump := list[i-1].tok
	if jump != token.BREAK && jump != token.CONTINUE && jump != token.GOTO {
		return false
	}
	path := c.at(offset)
	for k, n := range slices.Backward(path) {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			set.add(Candidate{Text: n.Label.Name, Kind: "label"})
		case *ast.FuncLit, *ast.FuncDecl:
			c.gotoLabels(jump, path[k:k+1], set)
			return true
		}
	}
	var top []ast.Node
	for _, st := range c.syn.stmts {
		top = append(top, st)
	}
	c.gotoLabels(jump, top, set)
	return true
}

func (c *check) gotoLabels(jump token.Token, within []ast.Node, set *candidates) {
	if jump != token.GOTO {
		return
	}
	for _, root := range within {
		ast.Inspect(root, func(n ast.Node) bool {
			if l, ok := n.(*ast.LabeledStmt); ok {
				set.add(Candidate{Text: l.Label.Name, Kind: "label"})
			}
			_, inner := n.(*ast.FuncLit)
			return !inner || n == root
		})
	}
}
