package dap

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"reflect"
	"strconv"
	"strings"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/peek"
)

// condition says when a breakpoint halts: when its expression is true, of these
// times those that hits tells, and never when it has a text to log instead.
type condition struct {
	expr string
	hits func(n int) bool
	log  []logPart
	n    int // times that the expression was true
}

// logPart is a piece of a log message: a text, or an expression in braces.
type logPart struct{ text, expr string }

func newCondition(expr, hits, log string) (c condition, err error) {
	if c.expr = strings.TrimSpace(expr); c.expr != "" {
		err = isExpr(c.expr)
	}
	if err == nil {
		c.hits, err = parseHits(hits)
	}
	if err == nil {
		c.log, err = parseLog(log)
	}
	return c, err
}

func isExpr(text string) error {
	if _, err := parser.ParseExpr(text); err != nil {
		return fmt.Errorf("%q is not a Go expression: %w", text, err)
	}
	return nil
}

// parseHits reads "3" or "==3", ">3", ">=3", "<3", "<=3", and "%3" for every
// third time.
func parseHits(text string) (func(int) bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return func(int) bool { return true }, nil
	}
	digits := strings.TrimLeft(text, "=<>%")
	op := text[:len(text)-len(digits)]
	limit, err := strconv.Atoi(strings.TrimSpace(digits))
	if err == nil && limit > 0 {
		switch op {
		case "", "=", "==":
			return func(n int) bool { return n == limit }, nil
		case ">":
			return func(n int) bool { return n > limit }, nil
		case ">=":
			return func(n int) bool { return n >= limit }, nil
		case "<":
			return func(n int) bool { return n < limit }, nil
		case "<=":
			return func(n int) bool { return n <= limit }, nil
		case "%":
			return func(n int) bool { return n%limit == 0 }, nil
		}
	}
	return nil, fmt.Errorf("%q is not a hit condition: write 3, >3, >=3, <3, <=3 or %%3", text)
}

// parseLog finds the expressions in a message. A backslash keeps a brace.
func parseLog(text string) ([]logPart, error) {
	var list []logPart
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`{}\`, text[i+1]) >= 0:
			i++
			plain.WriteByte(text[i])
		case text[i] == '{':
			expr, ok := braced(text[i+1:])
			if !ok {
				return nil, fmt.Errorf("unmatched brace in %q", text)
			}
			if err := isExpr(expr); err != nil {
				return nil, err
			}
			list = append(list, logPart{text: plain.String(), expr: expr})
			plain.Reset()
			i += len(expr) + 1
		default:
			plain.WriteByte(text[i])
		}
	}
	if plain.Len() > 0 {
		list = append(list, logPart{text: plain.String()})
	}
	return list, nil
}

// braced is the Go text before the brace that closes.
func braced(text string) (string, bool) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, 0) // what is wrong with it is said later
	for depth := 1; ; {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.LBRACE:
			depth++
		case token.RBRACE:
			depth--
		case token.EOF:
			return "", false
		}
		if depth == 0 {
			return text[:file.Offset(pos)], true
		}
	}
}

// stays decides whether a goroutine that came to a breakpoint stays halted.
func (s *Server) stays(ctx context.Context, thread uint64) bool {
	stack, ok := s.debug.Stack(thread)
	if !ok || len(stack) == 0 {
		return true
	}
	call := &stack[0]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.undecide = cancel
	var here []*condition
	for _, b := range s.breakpoints[call.File] {
		if b.Verified && b.Line == call.Line {
			here = append(here, b.condition)
		}
	}
	s.mu.Unlock()
	stays := false
	for _, c := range here {
		stays = s.holds(ctx, c, call) || stays
	}
	return stays
}

// holds reports whether a breakpoint halts, and logs what it has to. One whose
// condition cannot be computed halts and says why.
func (s *Server) holds(ctx context.Context, c *condition, call *gocell.Call) bool {
	if c.expr != "" {
		yes, err := s.truth(ctx, c.expr, call)
		if ctx.Err() != nil { // nobody waits for it any more
			return false
		}
		if err != nil {
			s.output(fmt.Sprintf("the condition %s of line %d: %v", c.expr, call.Line, err))
			return true
		}
		if !yes {
			return false
		}
	}
	s.mu.Lock()
	c.n++
	n := c.n
	s.mu.Unlock()
	if !c.hits(n) {
		return false
	}
	if c.log == nil {
		return true
	}
	s.output(s.message(ctx, c.log, call))
	return false
}

func (s *Server) truth(ctx context.Context, expr string, call *gocell.Call) (bool, error) {
	r, err := s.evaluateIn(ctx, expr, call)
	if err != nil {
		return false, err
	}
	if len(r.Values) != 1 || reflect.ValueOf(r.Values[0]).Kind() != reflect.Bool {
		return false, errors.New("it is not a boolean")
	}
	return reflect.ValueOf(r.Values[0]).Bool(), nil
}

// message is a log message with the values of its expressions.
func (s *Server) message(ctx context.Context, parts []logPart, call *gocell.Call) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
		if p.expr == "" {
			continue
		}
		r, err := s.evaluateIn(ctx, p.expr, call)
		if err != nil {
			b.WriteString("{" + err.Error() + "}")
			continue
		}
		var texts []string
		for _, v := range r.Values {
			texts = append(texts, peek.Text(reflect.ValueOf(v), true))
		}
		b.WriteString(strings.Join(texts, " "))
	}
	return b.String()
}

// output shows a line in the client's debug console.
func (s *Server) output(text string) {
	s.send("output", object{"category": "console", "output": text + "\n"})
}
