package token

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// stage is any normalizer, pre-tokenizer, post-processor or decoder of a
// tokenizer.json: the fields of all kinds.
type stage struct {
	Type string `json:"type"`

	// Sequence
	Normalizers   []*stage `json:"normalizers"`
	Pretokenizers []*stage `json:"pretokenizers"`
	Processors    []*stage `json:"processors"`
	Decoders      []*stage `json:"decoders"`

	Pattern       *pattern `json:"pattern"`  // Split, Replace
	Behavior      string   `json:"behavior"` // Split
	Invert        bool     `json:"invert"`
	Content       string   `json:"content"`           // Replace, Strip
	Prepend       string   `json:"prepend"`           // Prepend
	StripLeft     bool     `json:"strip_left"`        // Strip, the normalizer
	StripRight    bool     `json:"strip_right"`       //
	Start         int      `json:"start"`             // Strip, the decoder
	Stop          int      `json:"stop"`              //
	Individual    bool     `json:"individual_digits"` // Digits
	AddPrefix     *bool    `json:"add_prefix_space"`  // ByteLevel, Metaspace
	UseRegex      *bool    `json:"use_regex"`         // ByteLevel
	Replacement   string   `json:"replacement"`       // Metaspace
	PrependScheme string   `json:"prepend_scheme"`    //
	Split         *bool    `json:"split"`             //

	Single  []templatePart         `json:"single"` // TemplateProcessing
	Special map[string]templateIDs `json:"special_tokens"`
}

// pattern is a text or an expression.
type pattern struct {
	String *string
	Regex  *string
}

func (p *pattern) compile() (matcher, error) {
	switch {
	case p != nil && p.String != nil:
		return literal(*p.String), nil
	case p != nil && p.Regex != nil:
		return compile(*p.Regex)
	}
	return nil, errors.New("there is no pattern")
}

const (
	maxNesting = 8  // of sequences
	maxStages  = 64 // of one kind; each goes over the whole text
	maxInsert  = 32 // bytes that a stage writes at one place, which bounds how much longer a text becomes
)

var (
	errNesting = fmt.Errorf("sequences are nested more than %d deep", maxNesting)
	errStages  = fmt.Errorf("there are more than %d stages", maxStages)
	errInsert  = fmt.Errorf("texts to insert have at most %d bytes", maxInsert)
)

func (s *stage) unsupported(known string) error {
	return fmt.Errorf("the type %q is not supported; those are %s", s.Type, known)
}

func isTrue(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// flatten appends what the stages of a sequence give.
func flatten[T any](stages []*stage, depth int, one func(*stage, int) ([]T, error)) (all []T, _ error) {
	if depth == maxNesting {
		return nil, errNesting
	}
	for _, s := range stages {
		some, err := one(s, depth+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > maxStages {
			return nil, errStages
		}
	}
	return all, nil
}

// replaced is the text that a Replace looks for.
func (s *stage) replaced() (string, error) {
	if s.Pattern == nil || s.Pattern.String == nil || *s.Pattern.String == "" {
		return "", errors.New("a Replace needs a pattern that is a text")
	}
	if len(s.Content) > maxInsert {
		return "", errInsert
	}
	return *s.Pattern.String, nil
}

func (s *stage) normalizers(depth int) ([]normalizer, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "Sequence":
		return flatten(s.Normalizers, depth, (*stage).normalizers)
	case "Prepend":
		if len(s.Prepend) > maxInsert {
			return nil, errInsert
		}
		return []normalizer{prepend(s.Prepend)}, nil
	case "Strip":
		return []normalizer{trim(s.StripLeft, s.StripRight)}, nil
	case "Replace":
		old, err := s.replaced()
		if err != nil {
			return nil, err
		}
		return []normalizer{replace(old, s.Content)}, nil
	}
	if f, ok := forms[s.Type]; ok {
		return []normalizer{f}, nil
	}
	return nil, s.unsupported("Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip")
}

func (s *stage) splitters(depth int) ([]splitter, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "Sequence":
		return flatten(s.Pretokenizers, depth, (*stage).splitters)
	case "Split":
		do, ok := behaviors[s.Behavior]
		if !ok {
			return nil, fmt.Errorf("the behavior %q is unknown", s.Behavior)
		}
		match, err := s.Pattern.compile()
		if err != nil {
			return nil, err
		}
		return []splitter{splitAt(match, do, s.Invert)}, nil
	case "ByteLevel":
		var steps []splitter
		if isTrue(s.AddPrefix, true) {
			steps = append(steps, spaceFirst())
		}
		if isTrue(s.UseRegex, true) {
			match, err := compile(wordExpr)
			if err != nil {
				return nil, err
			}
			steps = append(steps, splitAt(match, isolated, false))
		}
		return append(steps, byteLevel()), nil
	case "Digits":
		return []splitter{digits(s.Individual)}, nil
	case "Metaspace":
		scheme, err := s.scheme()
		if err != nil {
			return nil, err
		}
		return metaspace(s.Replacement, scheme, isTrue(s.Split, true)), nil
	}
	return nil, s.unsupported("Sequence, Split, ByteLevel, Digits, Metaspace")
}

// scheme is the prefix scheme of a Metaspace; old files say add_prefix_space.
func (s *stage) scheme() (prefixScheme, error) {
	if utf8.RuneCountInString(s.Replacement) != 1 {
		return "", fmt.Errorf("the replacement %q is not one character", s.Replacement)
	}
	switch scheme := prefixScheme(s.PrependScheme); {
	case scheme == prefixAlways, scheme == prefixFirst, scheme == prefixNever:
		return scheme, nil
	case scheme != "":
		return "", fmt.Errorf("the prepend_scheme %q is unknown", scheme)
	case isTrue(s.AddPrefix, true):
		return prefixAlways, nil
	}
	return prefixNever, nil
}

// decoder sets what the stage says. A Strip must come after the tokens are fused: it
// is then about the start of the text.
func (s *stage) decoder(d *decoder) error {
	if s == nil {
		d.steps = []decodeStep{spaced}
		return nil
	}
	stages, fused := []*stage{s}, false
	if s.Type == "Sequence" {
		stages = s.Decoders
	}
	if len(stages) > maxStages {
		return errStages
	}
	for _, s := range stages {
		if s == nil {
			return errors.New("a part of the sequence is missing")
		}
		switch {
		case s.Type == "Fuse":
			fused = true
		case s.Type == "Strip" && fused && s.Stop == 0 && s.Start >= 0 && utf8.RuneCountInString(s.Content) == 1:
			d.strip = s.Start
			d.space, _ = utf8.DecodeRuneInString(s.Content)
		case fused || s.Type == "Strip":
			return fmt.Errorf("%s after Fuse is not supported, or Strip except after it, at the start, of one character", s.Type)
		default:
			step, err := s.step(d)
			if err != nil {
				return err
			}
			d.steps = append(d.steps, step)
		}
	}
	return nil
}

func (s *stage) step(d *decoder) (decodeStep, error) {
	switch s.Type {
	case "ByteLevel":
		d.literal = true // "tokenizers" takes the letters of an added token "é" for bytes and decodes it to U+FFFD
		return fromByteLevel, nil
	case "ByteFallback":
		return byteToken, nil
	case "Metaspace":
		scheme, err := s.scheme()
		if err != nil {
			return nil, err
		}
		return fromMetaspace(s.Replacement, scheme != prefixNever), nil
	case "Replace":
		old, err := s.replaced()
		if err != nil {
			return nil, err
		}
		if len(s.Content) > len(old) { // each of many could make a token 32 times as long
			return nil, fmt.Errorf("a Replace of %q by %q makes tokens longer", old, s.Content)
		}
		return replaceToken(old, s.Content), nil
	}
	return nil, s.unsupported("Sequence, ByteLevel, ByteFallback, Metaspace, Replace, Fuse, Strip")
}
