package token

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in the text itself, before words are.
type addedToken struct {
	id             int32
	form           form // of the text that it is looked for in
	special        bool
	word           bool // only where no letters touch it
	lstrip, rstrip bool // it takes the white space beside it
}

// form is a state of the text.
type form byte

const (
	rawForm    form = iota // as it was given
	normalForm             // after the normalizers
)

// addedTokens finds added tokens: at each place the longest one.
type addedTokens struct {
	ids     map[string]int32 // as the file writes them
	special map[int32]bool   // has all of them; true for special ones
	tokens  map[string]addedToken
	lengths [2][256][]int // of the tokens of a form that begin with a byte, descending
}

// section is an added token, or (id -1) text between two of them.
type section struct {
	id    int32
	text  string
	first bool // it begins the text
}

// put adds a token and the text that it is looked for as. The first of a text stays.
func (a *addedTokens) put(name, content string, t addedToken) {
	if a.tokens == nil {
		a.ids, a.special, a.tokens = make(map[string]int32), make(map[int32]bool), make(map[string]addedToken)
	}
	a.ids[name], a.special[t.id] = t.id, t.special
	if _, ok := a.tokens[content]; ok || content == "" {
		return
	}
	a.tokens[content] = t
	lengths := &a.lengths[t.form][content[0]]
	if at, ok := slices.BinarySearchFunc(*lengths, len(content), func(n, to int) int { return cmp.Compare(to, n) }); !ok {
		*lengths = slices.Insert(*lengths, at, len(content))
	}
}

// find cuts a text at the added tokens of a form. Special ones count as text unless
// special is set.
func (a *addedTokens) find(text string, in form, special bool) []section {
	var (
		sections []section
		done     int
	)
	for at := 0; at < len(text); {
		n, t := a.longest(text[at:], in)
		from, to := at, at+n
		if n == 0 {
			at++
			continue
		}
		at = to
		if t.special && !special || t.word && (endsInWord(text[:from]) || beginsWithWord(text[to:])) {
			continue
		}
		if t.lstrip {
			from = max(done, len(strings.TrimRightFunc(text[:from], unicode.IsSpace)))
		}
		if t.rstrip {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
			at = to
		}
		if done < from {
			sections = append(sections, section{-1, text[done:from], done == 0})
		}
		sections = append(sections, section{t.id, text[from:to], from == 0})
		done = to
	}
	if done < len(text) {
		sections = append(sections, section{-1, text[done:], done == 0})
	}
	return sections
}

// longest is the longest token of a form that a text begins with.
func (a *addedTokens) longest(text string, in form) (int, addedToken) {
	for _, n := range a.lengths[in][text[0]] {
		if n <= len(text) {
			if t, ok := a.tokens[text[:n]]; ok && t.form == in {
				return n, t
			}
		}
	}
	return 0, addedToken{}
}

func endsInWord(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWord(r)
}

func beginsWithWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc)
}
