package token

import "strings"

// Byte-level vocabularies write each byte as a printable character: those of Latin-1
// that print stand for themselves, the others follow from U+0100 on in order.
var (
	byteRunes [256]rune
	runeBytes = make(map[rune]byte, 256)
)

func init() {
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		byteRunes[b], runeBytes[r] = r, byte(b)
	}
}

// byteLevel writes the bytes of words as characters.
func byteLevel() splitter {
	return rewrite(func(w word) string {
		var b strings.Builder
		b.Grow(2 * len(w.text))
		for i := range len(w.text) {
			b.WriteRune(byteRunes[w.text[i]])
		}
		return b.String()
	})
}

// spaceFirst writes a space before words that do not begin with one.
func spaceFirst() splitter {
	return rewrite(func(w word) string {
		if strings.HasPrefix(w.text, " ") {
			return w.text
		}
		return " " + w.text
	})
}

// fromByteLevel is the bytes that a token stands for. A token with a character that
// is no byte stands for itself.
func fromByteLevel(token string, _ bool) string {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := runeBytes[r]
		if !ok {
			return token
		}
		b = append(b, c)
	}
	return string(b)
}
