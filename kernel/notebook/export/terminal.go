package export

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// control matches the escape sequences of terminals: CSI with its final byte,
// OSC up to its terminator, and two-byte escapes.
var control = regexp.MustCompile(`\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[@-Z\\^_]`)

// plain is text without escape sequences.
func plain(text string) string { return control.ReplaceAllString(text, "") }

// terminal turns text for a terminal into HTML: colours become spans with
// classes, a carriage return goes back to the start of the line, a backspace
// one character, and other escape sequences vanish.
func terminal(text string) string {
	var t screen
	for len(text) > 0 {
		loc := control.FindStringSubmatchIndex(text)
		if loc == nil {
			t.write(text)
			break
		}
		t.write(text[:loc[0]])
		if loc[4] >= 0 && text[loc[4]:loc[5]] == "m" {
			t.style.apply(text[loc[2]:loc[3]])
		}
		text = text[loc[1]:]
	}
	t.endLine()
	return t.out.String()
}

// screen is a terminal of one line.
type screen struct {
	out   strings.Builder
	line  []glyph
	col   int
	style sgr
}

type glyph struct {
	r     rune
	style sgr
}

func (t *screen) write(text string) {
	for _, r := range text {
		switch r {
		case '\n':
			t.endLine()
			t.out.WriteByte('\n')
		case '\r':
			t.col = 0
		case '\b':
			t.col = max(0, t.col-1)
		case '\a', '\x1b':
		default:
			if t.col < len(t.line) {
				t.line[t.col] = glyph{r, t.style}
			} else {
				t.line = append(t.line, glyph{r, t.style})
			}
			t.col++
		}
	}
}

// endLine writes the line out, one span for each run of one style.
func (t *screen) endLine() {
	for i := 0; i < len(t.line); {
		style := t.line[i].style
		var run strings.Builder
		for ; i < len(t.line) && t.line[i].style == style; i++ {
			run.WriteRune(t.line[i].r)
		}
		text := html.EscapeString(run.String())
		if style == (sgr{}) {
			t.out.WriteString(text)
		} else {
			fmt.Fprintf(&t.out, "<span%s>%s</span>", style.attributes(), text)
		}
	}
	t.line, t.col = t.line[:0], 0
}

// sgr is how text looks: colours by number (1 to 16 of the palette) or as
// "#rrggbb".
type sgr struct {
	fg, bg                                 string
	bold, faint, italic, underline, struck bool
	inverse                                bool
}

// apply changes the style as the parameters of an SGR sequence say.
func (s *sgr) apply(params string) {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		codes = []string{"0"}
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			return
		}
		switch {
		case n == 38 || n == 48:
			colour, used := extended(codes[i+1:])
			i += used
			if n == 38 {
				s.fg = colour
			} else {
				s.bg = colour
			}
		default:
			s.set(n)
		}
	}
}

func (s *sgr) set(n int) {
	switch {
	case n == 0:
		*s = sgr{}
	case n == 1:
		s.bold = true
	case n == 2:
		s.faint = true
	case n == 3:
		s.italic = true
	case n == 4:
		s.underline = true
	case n == 7:
		s.inverse = true
	case n == 9:
		s.struck = true
	case n == 22:
		s.bold, s.faint = false, false
	case n == 23:
		s.italic = false
	case n == 24:
		s.underline = false
	case n == 27:
		s.inverse = false
	case n == 29:
		s.struck = false
	case n == 39:
		s.fg = ""
	case n == 49:
		s.bg = ""
	case n >= 30 && n <= 37:
		s.fg = strconv.Itoa(n - 30 + 1)
	case n >= 40 && n <= 47:
		s.bg = strconv.Itoa(n - 40 + 1)
	case n >= 90 && n <= 97:
		s.fg = strconv.Itoa(n - 90 + 9)
	case n >= 100 && n <= 107:
		s.bg = strconv.Itoa(n - 100 + 9)
	}
}

// extended reads the colour after 38 or 48: "5;n" or "2;r;g;b". It returns how
// many codes it took.
func extended(codes []string) (colour string, used int) {
	n := make([]int, 0, 4)
	for _, c := range codes[:min(4, len(codes))] {
		v, err := strconv.Atoi(c)
		if err != nil || v < 0 || v > 255 {
			break
		}
		n = append(n, v)
	}
	switch {
	case len(n) >= 4 && n[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", n[1], n[2], n[3]), 4
	case len(n) >= 2 && n[0] == 5:
		return indexed(n[1]), 2
	}
	return "", len(codes)
}

// indexed is a colour of the 256: the palette, a cube of six levels, greys.
func indexed(n int) string {
	switch {
	case n < 16:
		return strconv.Itoa(n + 1)
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	default:
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
}

// attributes are the class and style of a span.
func (s sgr) attributes() string {
	var classes, styles []string
	add := func(on bool, class string) {
		if on {
			classes = append(classes, class)
		}
	}
	colour := func(value, class, property string) {
		if strings.HasPrefix(value, "#") {
			styles = append(styles, property+":"+value)
		} else if value != "" {
			classes = append(classes, class+value)
		}
	}
	colour(s.fg, "fg", "color")
	colour(s.bg, "bg", "background-color")
	add(s.bold, "bold")
	add(s.faint, "faint")
	add(s.italic, "italic")
	add(s.underline, "underline")
	add(s.struck, "struck")
	add(s.inverse, "inverse")
	var b strings.Builder
	if len(classes) > 0 {
		fmt.Fprintf(&b, ` class="%s"`, strings.Join(classes, " "))
	}
	if len(styles) > 0 {
		fmt.Fprintf(&b, ` style="%s"`, strings.Join(styles, ";"))
	}
	return b.String()
}
