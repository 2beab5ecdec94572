package gocell

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"forgekernel/kernel/gocell/eval"
)

// Completion and inspection check the cell as it is, broken as it may be, and
// look at what the checker knows at the cursor. They run while cells do.

// Of a cell that is larger, what is looked at is a part of these many bytes before and
// behind the cursor: an answer is due in the time of a key stroke.
const (
	lookBefore = 48 << 10
	lookBehind = 16 << 10
)

// maxLookDepth bounds what stands within one another, on which the checker's time may
// depend more than linearly.
const maxLookDepth = 2000

// depth is how deep nodes stand within one another.
func (syn *syntax) depth() int {
	depth, deepest := 0, 0
	for _, root := range syn.nodes() {
		ast.Inspect(root, func(n ast.Node) bool {
			if n == nil {
				depth--
			} else {
				depth++
			}
			deepest = max(deepest, depth)
			return true
		})
	}
	return deepest
}

// around is the part of a source that is looked at, in whole lines where it has any,
// and where it begins.
func around(src string, offset int) (part string, from int) {
	if len(src) <= lookBefore+lookBehind {
		return src, 0
	}
	from, to := max(0, offset-lookBefore), min(len(src), offset+lookBehind)
	if line := strings.IndexByte(src[from:offset], '\n'); from > 0 && line >= 0 {
		from += line + 1
	}
	if line := strings.LastIndexByte(src[offset:to], '\n'); to < len(src) && line >= 0 {
		to = offset + line
	}
	return src[from:to], from
}

// word returns the bounds of the identifier around or before an offset.
func word(src string, offset int) (from, to int) {
	offset = min(max(offset, 0), len(src))
	from, to = offset, offset
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(src[:from])
		if !isNameRune(r) {
			break
		}
		from -= size
	}
	for to < len(src) {
		r, size := utf8.DecodeRuneInString(src[to:])
		if !isNameRune(r) {
			break
		}
		to += size
	}
	return from, to
}

func isNameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// balanced closes what a source leaves open, so that most of it parses.
func balanced(src string) string {
	list, _ := scan(src)
	var b strings.Builder
	b.WriteString(src)
	for _, i := range slices.Backward(opened(list)) {
		if list[i].tok == token.LBRACE {
			b.WriteByte('\n')
		}
		b.WriteString(closers[list[i].tok].String())
	}
	return b.String()
}

// peekTime bounds what is fetched for a look at a source: whoever asks waits.
const peekTime = time.Second

// peek checks a source without consequences. The caller holds the lock.
func (s *Session) peek(text string) *check {
	ctx, cancel := context.WithTimeout(context.Background(), peekTime)
	defer cancel()
	c := &check{s: s, ctx: ctx, src: &eval.Source{Name: "cell", Line: 1, Text: balanced(text)}, lib: newLibrary(), imported: map[string]string{},
		declared: map[string]bool{}, defines: map[string]bool{}, hoisted: map[string]bool{}, kept: map[string]bool{}, peeks: true}
	c.syn, _ = c.lib.parseCell(c.src)
	if c.syn.depth() > maxLookDepth {
		c.syn = &syntax{}
	}
	c.survey()
	c.once()
	return c
}

// at returns the nodes around an offset, innermost last.
func (c *check) at(offset int) []ast.Node {
	var path []ast.Node
	visit := func(n ast.Node) bool {
		if n == nil || !n.Pos().IsValid() {
			return n != nil
		}
		if _, wrapped := n.(*ast.File); wrapped {
			return true
		}
		src, from, ok := c.lib.position(n.Pos())
		_, to, ok2 := c.lib.position(n.End())
		if ok && ok2 && src == c.src && from <= offset && offset <= to {
			path = append(path, n)
		}
		return true
	}
	for _, d := range c.syn.decls {
		ast.Inspect(d, visit)
	}
	for _, m := range c.methods {
		ast.Inspect(m.decl, visit)
	}
	for _, st := range c.syn.stmts {
		ast.Inspect(st, visit)
	}
	for _, spec := range c.syn.imports {
		ast.Inspect(spec, visit)
	}
	return path
}

// innermost returns the smallest scope of the cell around an offset.
func (c *check) innermost(offset int) *types.Scope {
	best := c.info.Scopes[c.main.Type] // of the statements at the top level
	path := c.at(offset)
	if len(path) == 0 {
		return best
	}
	pos, size := path[len(path)-1].Pos(), token.Pos(-1)
	for _, scope := range c.info.Scopes {
		if from, to := scope.Pos(), scope.End(); from.IsValid() && from <= pos && pos < to && (size < 0 || to-from < size) {
			best, size = scope, to-from
		}
	}
	return best
}
