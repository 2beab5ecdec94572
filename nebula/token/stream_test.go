package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// tiny are the tokenizers of testdata.
var tiny = []string{"gpt2", "prefix", "llama3", "qwen2", "smollm", "digits", "llama2", "mistral", "metaspace", "unfused"}

// Any ids, streamed, give whole characters only, and together what Decode gives.
func TestStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, name := range tiny {
		tok := open(t, name)
		for range 300 {
			ids := make([]int32, rng.IntN(30))
			for i := range ids {
				ids[i] = int32(rng.IntN(tok.Size()+2)) - 1 // outside the vocabulary too
			}
			for _, special := range []bool{false, true} {
				s, all := tok.Stream(nil, special), ""
				for _, id := range ids {
					part := s.Next(id)
					if !utf8.ValidString(part) {
						t.Fatalf("%s %v: %q was given", name, ids, part)
					}
					all += part
				}
				if all += s.Flush(); all != tok.Decode(ids, special) {
					t.Fatalf("%s %v: %q, not %q", name, ids, all, tok.Decode(ids, special))
				}
			}
		}
	}
}

// What is not UTF-8 becomes U+FFFD as Rust and the browsers do it, wherever the bytes
// are cut; what may become a character waits.
func TestStreamBytes(t *testing.T) {
	tok := open(t, "gpt2")
	for _, c := range []struct{ bytes, want string }{
		{"caf\xc3\xa9", "café"}, {"\xf0\x9f\x98\x80!", "😀!"}, {"\xff", "\ufffd"}, {"a\x80b", "a\ufffdb"},
		{"\xf0\x9f\x98", "\ufffd"}, {"\xf0\x9f\x98x", "\ufffdx"}, {"\xf0\x9f\xf0\x9f\x98\x80", "\ufffd😀"},
		{"\xe0\x80\x80", "\ufffd\ufffd\ufffd"}, {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"}, {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"\xc0\xaf", "\ufffd\ufffd"}, {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\ufffd\ufffd\ufffd\ufffdA"}, {"\xc3", "\ufffd"}, {"\ufffd", "\ufffd"},
	} {
		var ids []int32
		for i := range len(c.bytes) {
			id, ok := tok.model.ids[string(byteRunes[c.bytes[i]])]
			if !ok {
				t.Fatalf("there is no token for byte %#x", c.bytes[i])
			}
			ids = append(ids, id)
		}
		if got := tok.Decode(ids, false); got != c.want {
			t.Errorf("%q decodes to %q, not %q", c.bytes, got, c.want)
		}
	}
	s := tok.Stream(nil, false)
	var given []string
	for _, c := range []byte("\xf0\x9f\x98\x80\xc3x") {
		given = append(given, s.Next(tok.model.ids[string(byteRunes[c])]))
	}
	if want := []string{"", "", "", "😀", "", "\ufffdx"}; !slices.Equal(given, want) {
		t.Errorf("%q, not %q", given, want)
	}
}

// A text that goes on after a prompt keeps the space that a text of its own loses.
func TestStreamAfterPrompt(t *testing.T) {
	for _, name := range []string{"llama2", "mistral", "metaspace", "llama3"} {
		tok := open(t, name)
		ids, err := tok.Encode("the world", true)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ids {
			s := tok.Stream(ids[:n], false)
			rest := ""
			for _, id := range ids[n:] {
				rest += s.Next(id)
			}
			if all := tok.Decode(ids[:n], false) + rest + s.Flush(); all != "the world" {
				t.Errorf("%s, %d tokens of prompt: %q", name, n, all)
			}
		}
	}
}

// One tokenizer serves many requests at once.
func TestConcurrent(t *testing.T) {
	tok := open(t, "llama3")
	text := "It's 12345 words, naïve 😀 <s>"
	want, err := tok.Encode(text, true)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				ids, err := tok.Encode(text, true)
				if err != nil || !slices.Equal(ids, want) || tok.Decode(ids, false) != "It's 12345 words, naïve 😀 " {
					t.Errorf("%v, %v", ids, err)
				}
			}
		})
	}
	wait.Wait()
}

// A byte-level tokenizer without normalizers gives back any text.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", " Hello  world\n", "naïve 😀\u200d e\u0301", "<s>[M] word </s>", "\x00\x04\uffff"} {
		f.Add(s)
	}
	var toks []*Tokenizer
	for _, name := range []string{"gpt2", "llama3", "smollm"} {
		toks = append(toks, open(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range toks {
			ids, err := tok.EncodeText(text)
			if err != nil {
				if utf8.ValidString(text) {
					t.Fatal(err)
				}
				return
			}
			if got := tok.Decode(ids, true); got != text {
				t.Fatalf("%q became %q by %v", text, got, ids)
			}
			var joined strings.Builder
			for _, id := range ids {
				if special := tok.Special(id); special {
					t.Fatalf("%q has the special token %d", text, id)
				}
				joined.Write(tok.Token(id))
			}
			if joined.String() != text {
				t.Fatalf("the tokens of %q are %q", text, joined.String())
			}
		}
	})
}
