package token

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder turns tokens as the vocabulary writes them into text.
type decoder struct {
	steps   []decodeStep
	literal bool // added tokens stand for themselves
	strip   int  // so many of the character space are left out at the start of the text
	space   rune // of strip
}

// decodeStep turns a token into what it stands for; first tells the one that begins
// a text.
type decodeStep func(token string, first bool) string

// piece is the bytes of an id that exists.
func (t *Tokenizer) piece(id int32, first bool) string {
	s := t.vocab[id]
	if _, added := t.added.special[id]; added && t.decoder.literal {
		return s
	}
	return t.decoder.decode(s, first)
}

func (d *decoder) decode(s string, first bool) string {
	for _, f := range d.steps {
		s = f(s, first)
	}
	return s
}

// Decode gives the text of ids: the bytes of the tokens, U+FFFD for each maximal part
// that is no UTF-8. Special tokens are left out unless special is set; ids that the
// vocabulary does not have stand for nothing.
func (t *Tokenizer) Decode(ids []int32, special bool) string {
	s := t.Stream(nil, special)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Next(id))
	}
	b.WriteString(s.Flush())
	return b.String()
}

// Stream is the text of ids that come one by one. It gives whole characters only:
// bytes that may still become one wait for the next id. The texts that Next and Flush
// give are together what [Tokenizer.Decode] gives for all the ids.
type Stream struct {
	t       *Tokenizer
	special bool
	begun   bool
	strip   int
	held    []byte
}

// Stream begins a text. With a prompt the text goes on after it: what the prompt
// itself decodes to is not given again, and the first word keeps its space.
func (t *Tokenizer) Stream(prompt []int32, special bool) *Stream {
	s := &Stream{t: t, special: special, strip: t.decoder.strip}
	for _, id := range prompt {
		s.Next(id)
	}
	return s
}

// Next takes an id and gives the characters that are complete.
func (s *Stream) Next(id int32) string {
	if !s.t.has(id) || !s.special && s.t.Special(id) {
		return ""
	}
	s.held = append(s.held, s.t.piece(id, !s.begun)...)
	s.begun = true
	return s.take(false)
}

// Flush ends the text: bytes that wait become U+FFFD.
func (s *Stream) Flush() string { return s.take(true) }

func (s *Stream) take(end bool) string {
	var out []byte
	b := s.held
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			var open bool
			if n, open = illFormed(b); open && !end {
				break
			}
		}
		b = b[n:]
		if s.strip > 0 {
			if r == s.t.decoder.space {
				s.strip--
				continue
			}
			s.strip = 0
		}
		out = utf8.AppendRune(out, r)
	}
	s.held = append(s.held[:0], b...)
	return string(out)
}

// illFormed measures bytes that begin with no character: how many of them may begin
// one, at least one, and whether more bytes could complete it (Unicode 3.9, table 3-7
// and the practice of substituting maximal subparts).
func illFormed(b []byte) (n int, open bool) {
	low, high, need := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		need = 2
	case lead >= 0xE0 && lead <= 0xEF:
		need = 3
	case lead >= 0xF0 && lead <= 0xF4:
		need = 4
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n = 1
	for n < need && n < len(b) && b[n] >= low && b[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n, n < need && n == len(b)
}

// replaceToken decodes one text into another.
func replaceToken(old, new string) decodeStep {
	return func(s string, _ bool) string { return strings.ReplaceAll(s, old, new) }
}

// byteToken decodes "<0x0A>" into its byte.
func byteToken(s string, _ bool) string {
	if c, ok := tokenByte(s); ok {
		return string([]byte{c})
	}
	return s
}

// tokenByte is the byte that a token such as "<0x0A>" stands for.
func tokenByte(s string) (byte, bool) {
	if len(s) != 6 || !strings.HasPrefix(s, "<0x") || s[5] != '>' {
		return 0, false
	}
	c, err := strconv.ParseUint(s[3:5], 16, 8)
	return byte(c), err == nil
}

// fromMetaspace decodes the character that stands for a space. At the start of a
// text it stands for nothing when encoding put it there.
func fromMetaspace(space string, prefixed bool) decodeStep {
	return func(s string, first bool) string {
		if first && prefixed {
			return strings.ReplaceAll(s, space, "")
		}
		return strings.ReplaceAll(s, space, " ")
	}
}

// spaced is what "tokenizers" does for a file without a decoder.
func spaced(s string, first bool) string {
	if first {
		return s
	}
	return " " + s
}
