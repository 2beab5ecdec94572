package sample

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// naive tries every end, and at each every stop string.
func naive(text string, stops []string) (out, stop string) {
	for end := range len(text) + 1 {
		for _, s := range stops {
			if strings.HasSuffix(text[:end], s) && len(s) > len(stop) {
				stop = s
			}
		}
		if stop != "" {
			return text[:end-len(stop)], stop
		}
	}
	return text, ""
}

// stream writes parts of a text and checks that what is given is certain: that it is
// the beginning of the answer and all that can be known.
func stream(t *testing.T, stops []string, parts ...string) (string, string) {
	t.Helper()
	s := NewStop(stops)
	var all, out strings.Builder
	for _, part := range parts {
		given, stop := s.Write(part)
		all.WriteString(part)
		out.WriteString(given)
		if stop != "" {
			if again, same := s.Write("x"); again != "" || same != stop || s.Flush() != "" {
				t.Fatalf("something follows the stop string %q", stop)
			}
			return out.String(), stop
		}
		certain := all.Len()
		for n := range all.Len() + 1 {
			for _, stop := range stops {
				if len(stop) > all.Len()-n && strings.HasPrefix(stop, all.String()[n:]) {
					certain = min(certain, n)
				}
			}
		}
		if out.Len() != certain {
			t.Fatalf("after %q with stops %q: %q is given; %d bytes are certain", all.String(), stops, out.String(), certain)
		}
	}
	out.WriteString(s.Flush())
	return out.String(), ""
}

func check(t *testing.T, stops []string, parts ...string) {
	t.Helper()
	text := strings.Join(parts, "")
	wantOut, wantStop := naive(text, stops)
	if out, stop := stream(t, stops, parts...); out != wantOut || stop != wantStop {
		t.Fatalf("%q with stops %q: %q, %q, not %q, %q", parts, stops, out, stop, wantOut, wantStop)
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		text  string
		stops []string
		out   string
		stop  string
	}{
		{"hello world", nil, "hello world", ""},
		{"hello", []string{"x"}, "hello", ""},
		{"abcab", []string{"abd"}, "abcab", ""},
		{"one\n\ntwo", []string{"\n\n"}, "one", "\n\n"},
		{"xabcd", []string{"abcd", "bc"}, "xa", "bc"},   // the first that is complete
		{"xabcd", []string{"bcd", "abcd"}, "x", "abcd"}, // the longer of two
		{"aaab", []string{"aab"}, "a", "aab"},           // an overlap of itself
		{"ababac", []string{"abac"}, "ab", "abac"},      //
		{"日本語", []string{"本語"}, "日", "本語"},
		{"日本誤", []string{"本語"}, "日本誤", ""},
		{"", []string{"a"}, "", ""},
	} {
		if out, stop := naive(c.text, c.stops); out != c.out || stop != c.stop {
			t.Errorf("naive: %q, %q", out, stop)
		}
		for i := range len(c.text) + 1 {
			for j := i; j <= len(c.text); j++ {
				check(t, c.stops, c.text[:i], c.text[i:j], c.text[j:])
			}
		}
		check(t, c.stops, strings.Split(c.text, "")...)
	}
}

// Over few letters, where nearly everything overlaps, any cut gives the naive answer.
func TestStopRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[rng.IntN(2)]
		}
		return string(b)
	}
	for range 3000 {
		var stops, parts []string
		for range 1 + rng.IntN(4) {
			stops = append(stops, word(1+rng.IntN(7)))
		}
		for range rng.IntN(8) {
			parts = append(parts, word(rng.IntN(5)))
		}
		check(t, stops, parts...)
	}
}

// Whole characters go in and whole characters come out.
func FuzzStop(f *testing.F) {
	f.Add("日本誤 and 日本語", "本語", "語", uint8(2))
	f.Fuzz(func(t *testing.T, text, a, b string, size uint8) {
		if a == "" || b == "" || !utf8.ValidString(text) || !utf8.ValidString(a) || !utf8.ValidString(b) || len(text) > 200 {
			return
		}
		s := NewStop([]string{a, b})
		var out strings.Builder
		stop := ""
		for rest := text; rest != "" && stop == ""; {
			n := 0
			for range int(size%4) + 1 {
				_, k := utf8.DecodeRuneInString(rest[n:])
				n += k
			}
			var given string
			given, stop = s.Write(rest[:n])
			if !utf8.ValidString(given) {
				t.Fatalf("%q was given", given)
			}
			out.WriteString(given)
			rest = rest[n:]
		}
		out.WriteString(s.Flush())
		if wantOut, wantStop := naive(text, []string{a, b}); out.String() != wantOut || stop != wantStop {
			t.Fatalf("%q, %q, not %q, %q", out.String(), stop, wantOut, wantStop)
		}
	})
}
