package canvas

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"forgekernel/display/internal/cells"
)

// Font is one of the typefaces.
type Font uint8

// Fonts.
const (
	Regular Font = iota
	Medium
	Mono
	fonts
)

var typefaces = [fonts]struct {
	ttf    []byte
	family string // as an SVG font-family list
	weight string
}{
	Regular: {goregular.TTF, "Go, Helvetica Neue, Helvetica, Arial, sans-serif", ""},
	Medium:  {gomedium.TTF, "Go, Helvetica Neue, Helvetica, Arial, sans-serif", "600"},
	Mono:    {gomono.TTF, "Go Mono, SFMono-Regular, Menlo, Consolas, monospace", ""},
}

// loaded is a parsed font with the widths of ASCII, which is most text.
type loaded struct {
	*opentype.Font
	mu      sync.Mutex // guards buf
	buf     sfnt.Buffer
	advance [128]float64 // at size 1
}

const unit = 1000 // pixels per em at which widths are measured

var parsed = [fonts]func() *loaded{}

func init() {
	for i := range parsed {
		parsed[i] = sync.OnceValue(func() *loaded { return parse(typefaces[i].ttf) })
	}
}

func parse(ttf []byte) *loaded {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("canvas: embedded font: " + err.Error()) // part of the program
	}
	l := &loaded{Font: f}
	for c := range l.advance {
		l.advance[c] = l.measure(rune(c))
	}
	return l
}

// measure is the width of r at size 1. A character that the font lacks will
// come from another font of the reader's; a full em is enough for most.
func (l *loaded) measure(r rune) float64 {
	i, err := l.GlyphIndex(&l.buf, r)
	if err != nil || i == 0 {
		return 1
	}
	a, err := l.GlyphAdvance(&l.buf, i, fixed.I(unit), font.HintingNone)
	if err != nil {
		return 1
	}
	return float64(a) / 64 / unit
}

// Width is the width of s in the given font and size.
func Width(s string, f Font, size float64) float64 {
	l := parsed[f]()
	width := 0.0
	for _, r := range s {
		if r < rune(len(l.advance)) {
			width += l.advance[r]
			continue
		}
		l.mu.Lock()
		width += l.measure(r)
		l.mu.Unlock()
	}
	return width * size
}

// Wrap breaks a text at spaces into lines of a width; a longer word stands alone.
func Wrap(s string, width float64, f Font, size float64) (list []string) {
	line := ""
	for word := range strings.FieldsSeq(cells.OneLine(s)) {
		if longer := strings.TrimSpace(line + " " + word); Width(longer, f, size) <= width || line == "" {
			line = longer
			continue
		}
		list = append(list, line)
		line = word
	}
	if line != "" {
		list = append(list, line)
	}
	return list
}
