package gocell

import (
	"fmt"
	"go/token"

	"forgekernel/kernel/gocell/eval"
)

// closers are the brackets that close others.
var closers = map[token.Token]token.Token{token.LPAREN: token.RPAREN, token.LBRACK: token.RBRACK, token.LBRACE: token.RBRACE}

// nesting is how a token changes the number of brackets that are open.
func (l lexeme) nesting() int {
	switch l.tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		return 1
	case token.RPAREN, token.RBRACK, token.RBRACE:
		return -1
	}
	return 0
}

// opened lists the brackets that tokens leave open, outermost first, by their indices.
func opened(list []lexeme) []int {
	var open []int
	for i, l := range list {
		switch l.nesting() {
		case 1:
			open = append(open, i)
		case -1:
			open = open[:max(0, len(open)-1)]
		}
	}
	return open
}

// bracketError is an unmatched bracket.
type bracketError struct {
	lexeme
	unclosed bool
	within   *lexeme // the one of another kind that is open where this one closes
}

// unmatched finds the first bracket without its pair.
func unmatched(list []lexeme) *bracketError {
	var open []lexeme
	for _, l := range list {
		switch l.nesting() {
		case 1:
			open = append(open, l)
		case -1:
			if len(open) == 0 {
				return &bracketError{lexeme: l}
			}
			last := open[len(open)-1]
			if closers[last.tok] != l.tok {
				return &bracketError{lexeme: l, within: &last}
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return &bracketError{lexeme: open[len(open)-1], unclosed: true}
	}
	return nil
}

func (b *bracketError) fault(src *eval.Source) fault {
	switch {
	case b.unclosed:
		return fault{at: b.from, message: fmt.Sprintf("this %s is never closed: a %s is missing", b.tok, closers[b.tok])}
	case b.within != nil:
		line, _ := position(src, b.within.from)
		return fault{at: b.from, message: fmt.Sprintf("this %s cannot close the %s of line %d: a %s is missing", b.tok, b.within.tok, line, closers[b.within.tok])}
	}
	return fault{at: b.from, message: fmt.Sprintf("this %s closes nothing", b.tok)}
}
