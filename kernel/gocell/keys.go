package gocell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"forgekernel/kernel/gocell/peek"
)

// Limits of what is looked at in a large map, and of what is offered of it.
const (
	maxKeys    = 100_000
	maxOffered = 300
)

// completeText completes within a string: the key of a map of the session, else
// the name of a file.
func (s *Session) completeText(src string, offset int) (Completion, bool) {
	list, _ := scan(src)
	for i, l := range list {
		if l.tok != token.STRING || l.from >= offset {
			continue
		}
		quote := l.lit[:1]
		closed := len(l.lit) > 1 && strings.HasSuffix(l.lit, quote)
		to := l.from + len(l.lit)
		if closed {
			to--
		}
		if offset > to {
			continue
		}
		c := Completion{Start: l.from + 1, End: to}
		if !closed {
			c.End = offset // what follows was not meant to be in the string
		}
		if i > 0 && list[i-1].tok == token.LBRACK {
			c.Candidates = s.keyTexts(src[:list[i-1].from], src[c.Start:offset], quote, ending(src[to:], quote, closed))
		}
		c.File = len(c.Candidates) == 0 && (i == 0 || list[i-1].tok != token.LBRACK)
		return c, true
	}
	return Completion{}, false
}

// ending is what is missing behind a key.
func ending(rest, quote string, closed bool) string {
	switch {
	case closed: // a bracket would stand outside of what is replaced
		return ""
	case strings.HasPrefix(rest, "]"):
		return quote
	}
	return quote + "]"
}

// keyTexts are the keys that begin with what is there, as they stand in a string,
// of the map that a text ends with.
func (s *Session) keyTexts(before, prefix, quote, ending string) []Candidate {
	set := candidates{found: map[string]Candidate{}}
	s.eachKey(before, func(k reflect.Value) {
		if k.Kind() != reflect.String {
			return
		}
		text, n := k.String(), len(prefix)
		if len(text) < n || !strings.Contains(prefix, `\`) && !strings.EqualFold(text[:n], prefix) {
			return
		}
		if quote == `"` {
			text = strconv.Quote(text)
			text = text[1 : len(text)-1]
		} else if strings.Contains(text, "`") {
			return
		}
		set.add(Candidate{Text: text + ending, Kind: "key"})
	})
	list := set.matching(prefix)
	return list[:min(len(list), maxOffered)]
}

// indexKeys adds the keys of the map whose index begins at an offset, as they are
// written in Go: all of them, for some would look like all.
func (s *Session) indexKeys(before string, set *candidates) {
	var keys []Candidate
	s.eachKey(before, func(k reflect.Value) {
		if k.Type().PkgPath() != "" && k.Kind() != reflect.String || len(keys) > maxOffered {
			return // of an enumeration, whose constants say more
		}
		keys = append(keys, Candidate{Text: peek.Text(k, true), Kind: "key"})
	})
	for _, k := range keys {
		if len(keys) <= maxOffered {
			set.addRanked(rankFirst, k)
		}
	}
}

// eachKey visits the keys of the session's map that a text ends with: those of basic
// kinds. While code runs that may change the map and cannot be held, there are none.
func (s *Session) eachKey(before string, visit func(reflect.Value)) {
	if x, err := parser.ParseExpr(operand(before)); err == nil {
		s.debug.TryHold(func() { s.eachKeyOf(x, visit) })
	}
}

func (s *Session) eachKeyOf(x ast.Expr, visit func(reflect.Value)) {
	m := s.look(x)
	if !m.IsValid() || m.Kind() != reflect.Map || m.Len() > maxKeys {
		return
	}
	key := reflect.New(m.Type().Key()).Elem()
	for all := m.MapRange(); all.Next(); {
		key.SetIterKey(all)
		if k := held(key); isWord(k.Kind()) || k.Kind() == reflect.String {
			visit(k)
		}
	}
}

func isWord(k reflect.Kind) bool { return reflect.Bool <= k && k <= reflect.Float64 }

// operand is the expression that a text ends with: names, dots and indices.
func operand(text string) string {
	list, _ := scan(text)
	list = slices.DeleteFunc(list, func(l lexeme) bool { return l.tok == token.EOF || l.tok == token.SEMICOLON && l.lit == "\n" })
	i := len(list) - 1
	for i >= 0 {
		if list[i].tok == token.RBRACK {
			i = opening(list, i) - 1
			continue
		}
		if list[i].tok != token.IDENT {
			return ""
		}
		if i == 0 || list[i-1].tok != token.PERIOD {
			return strings.TrimSpace(text[list[i].from:])
		}
		i -= 2
	}
	return ""
}

// look is the value of an expression that needs no code to run: of a variable of
// the session, or of a part of one. It is invalid for any other.
func (s *Session) look(x ast.Expr) reflect.Value {
	switch x := x.(type) {
	case *ast.Ident:
		if sym := s.scope.symbols[x.Name]; sym != nil && sym.variable != nil {
			return held(sym.variable.Value())
		}
	case *ast.SelectorExpr:
		v := s.look(x.X)
		if v.IsValid() && v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.IsValid() && v.Kind() == reflect.Struct {
			if f, ok := v.Type().FieldByName(x.Sel.Name); ok && len(f.Index) == 1 {
				return held(v.Field(f.Index[0]))
			}
		}
	case *ast.IndexExpr:
		return s.lookAt(s.look(x.X), x.Index)
	}
	return reflect.Value{}
}

// lookAt is the element of a map or list at an index that is written out.
func (s *Session) lookAt(v reflect.Value, index ast.Expr) reflect.Value {
	lit, ok := index.(*ast.BasicLit)
	if !ok || !v.IsValid() {
		return reflect.Value{}
	}
	switch v.Kind() {
	case reflect.Map:
		if text, err := strconv.Unquote(lit.Value); err == nil && v.Type().Key().Kind() == reflect.String {
			return held(v.MapIndex(reflect.ValueOf(text).Convert(v.Type().Key())))
		}
	case reflect.Slice, reflect.Array:
		if i, err := strconv.Atoi(lit.Value); err == nil && 0 <= i && i < v.Len() {
			return held(v.Index(i))
		}
	}
	return reflect.Value{}
}

// held is a value, or what an interface holds.
func held(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}
