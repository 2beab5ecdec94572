package token

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/dlclark/regexp2/v2"
)

// word is a part of a section that is encoded alone.
type word struct {
	text  string
	first bool // it begins the whole text
}

// splitter is a pre-tokenizer: it splits words, or writes them differently.
type splitter func([]word) ([]word, error)

// matchTimeout bounds one match of a file's expression: it may backtrack without end.
const matchTimeout = 10 * time.Second

// wordExpr is the split of GPT-2 into words: contractions, letters, numbers and
// signs, each with the one space in front of it, then other white space.
const wordExpr = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// matcher gives the places that a pattern matches, as pairs of byte offsets.
type matcher func(string) ([][]int, error)

func compile(expr string) (matcher, error) { return compileWithin(expr, matchTimeout) }

func compileWithin(expr string, timeout time.Duration) (matcher, error) {
	re, err := regexp2.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the expression %q: %w", expr, err)
	}
	re.MatchTimeout = timeout
	return func(s string) ([][]int, error) {
		found, err := re.FindAllStringIndex(s, -1)
		if err != nil {
			return nil, fmt.Errorf("the expression %q is not matched within %v: it backtracks on this text", expr, timeout)
		}
		return found, nil
	}, nil
}

func literal(s string) matcher {
	return func(text string) (found [][]int, _ error) {
		for at := 0; s != ""; {
			n := strings.Index(text[at:], s)
			if n < 0 {
				break
			}
			found = append(found, []int{at + n, at + n + len(s)})
			at += n + len(s)
		}
		return found, nil
	}
}

// runes matches every character of a kind, alone.
func runes(is func(rune) bool) matcher {
	return func(text string) (found [][]int, _ error) {
		for i, r := range text {
			if is(r) {
				found = append(found, []int{i, i + len(string(r))})
			}
		}
		return found, nil
	}
}

// behavior is what becomes of the matches.
type behavior byte

const (
	isolated     behavior = iota // a match is a word
	removed                      // it is left out
	withPrevious                 // it ends the word before it
	withNext                     // it begins the word after it
	contiguous                   // matches that touch are a word
)

var behaviors = map[string]behavior{
	"Isolated": isolated, "Removed": removed, "MergedWithPrevious": withPrevious, "MergedWithNext": withNext, "Contiguous": contiguous,
}

// splitAt splits at the matches of a pattern, or with invert at what lies between.
func splitAt(match matcher, do behavior, invert bool) splitter {
	return each(func(w word, out []word) ([]word, error) {
		found, err := match(w.text)
		if err != nil {
			return nil, err
		}
		from := 0
		for _, p := range parts(w.text, found, do, invert) {
			if p.to > from && !(do == removed && p.matched) {
				out = append(out, word{w.text[from:p.to], w.first && from == 0})
			}
			from = p.to
		}
		return out, nil
	})
}

// part ends at a byte of a text; it begins where the part before it ends.
type part struct {
	to      int
	matched bool
}

// parts cuts a text at the matches and joins what the behavior joins.
func parts(text string, found [][]int, do behavior, invert bool) []part {
	var cut []part
	add := func(to int, matched bool) {
		from := 0
		if len(cut) > 0 {
			from = cut[len(cut)-1].to
		}
		if to > from {
			cut = append(cut, part{to, matched != invert})
		}
	}
	for _, m := range found {
		add(m[0], false)
		add(m[1], true)
	}
	add(len(text), false)

	var out []part
	for i, p := range cut {
		joins := false
		if i > 0 {
			before := cut[i-1].matched
			switch do {
			case withPrevious:
				joins = p.matched && !before
			case withNext:
				joins = !p.matched && before
			case contiguous:
				joins = p.matched == before
			}
		}
		if joins {
			out[len(out)-1] = p
		} else {
			out = append(out, p)
		}
	}
	return out
}

func each(split func(word, []word) ([]word, error)) splitter {
	return func(words []word) (out []word, err error) {
		for _, w := range words {
			if out, err = split(w, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// rewrite changes every word without splitting it.
func rewrite(f func(word) string) splitter {
	return func(words []word) ([]word, error) {
		for i, w := range words {
			words[i].text = f(w)
		}
		return words, nil
	}
}

// digits splits numbers off: in Unicode's sense, so "½" and "Ⅷ" are numbers too.
func digits(individual bool) splitter {
	if individual {
		return splitAt(runes(unicode.IsNumber), isolated, false)
	}
	return splitAt(runes(unicode.IsNumber), contiguous, false)
}

// prefixScheme says before which words a space is written.
type prefixScheme string

const (
	prefixAlways prefixScheme = "always"
	prefixFirst  prefixScheme = "first"
	prefixNever  prefixScheme = "never"
)

// metaspace writes a space as another character, SentencePiece's "▁".
func metaspace(space string, scheme prefixScheme, split bool) []splitter {
	steps := []splitter{rewrite(func(w word) string {
		text := strings.ReplaceAll(w.text, " ", space)
		if (scheme == prefixAlways || scheme == prefixFirst && w.first) && !strings.HasPrefix(text, space) {
			return space + text
		}
		return text
	})}
	if split {
		steps = append(steps, splitAt(literal(space), withNext, false))
	}
	return steps
}
