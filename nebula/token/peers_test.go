package token

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// The ids of GPT-2 and of the tiny tokenizers are those of "tokenizers", and those of
// SmolLM2's GGUF file are those of llama.cpp: for random texts and for every character that there is.
func TestPeers(t *testing.T) {
	python := os.Getenv("FORGE_PEERS_PYTHON")
	if python == "" {
		t.Skip("FORGE_PEERS_PYTHON names no Python with testdata/requirements.txt")
	}
	cache := os.Getenv("FORGE_PEERS_CACHE") // keeps 190 MB of models for the next time
	if cache == "" {
		cache = t.TempDir()
	}
	if out, err := exec.Command(python, "testdata/peers.py", cache).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	texts := append(randomTexts(4000), everyCharacter()...)
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(cache, "smollm2.gguf"), filepath.Join(cache, "gpt2.json")}
	for _, name := range tiny {
		files = append(files, "testdata/"+name+".json")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cmd := exec.Command(python, "testdata/peers.py", cache, path)
			cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tok, texts, lists(t, out))
		})
	}
}

// lists takes what peers.py wrote apart.
func lists(t *testing.T, b []byte) (all [][]int32) {
	word := func(i int) int32 { return int32(binary.NativeEndian.Uint32(b[4*i:])) }
	for at := 0; at < len(b)/4; {
		n := int(word(at))
		if n < 0 || at+n >= len(b)/4 {
			t.Fatalf("%d ids are announced, %d are left", n, len(b)/4-at-1)
		}
		list := make([]int32, n)
		for i := range list {
			list[i] = word(at + 1 + i)
		}
		all, at = append(all, list), at+1+n
	}
	return all
}

func compare(t *testing.T, tok *Tokenizer, texts []string, want [][]int32) {
	if len(want) != len(texts) {
		t.Fatalf("%d answers to %d texts", len(want), len(texts))
	}
	equal, lacking, wrong := 0, 0, 0
	for i, text := range texts {
		got, err := tok.Encode(text, false)
		if err != nil && strings.Contains(err.Error(), "no token") && tok.Decode(want[i], true) != text {
			lacking++ // the peer leaves out what the vocabulary cannot write
			continue
		}
		if err == nil && slices.Equal(got, want[i]) {
			equal++
			continue
		}
		if wrong++; wrong < 10 {
			t.Errorf("%.60q: %v\n got %.300q\nwant %.300q", text, err, spelled(tok, got), spelled(tok, want[i]))
		}
	}
	t.Logf("%d of %d texts equal, %d with bytes that the vocabulary lacks", equal, len(texts), lacking)
	if wrong > 0 || equal < len(texts)/2 {
		t.Errorf("%d texts differ", wrong)
	}
}

// randomTexts mixes words, code, numbers, scripts, white space, signs and special
// tokens.
func randomTexts(n int) []string {
	parts := strings.Split(`the|quick|Brown|fox|don't|we'll|I'M|it's|'re|naïve|café|e`+"\u0301|"+`straße|Å|ﬁ|func main() {|x[i]==0|return|"str"|//|->|:=|&&|0|1|42|2026|3.14|1,000|`+
		`٣|½|Ⅷ|你好|世界|。|こんにちは|안녕|مرحبا|שלום|привет|κόσμε|😀|👩‍👩‍👧|👍🏽|🇩🇪|`+"\u200b|\ufeff|\u00a0|\u3000|\u2028|\t|\n|\r\n|\n\n|\x00|\x1b|\x7f|\u0085|"+` |  |   |       |<|endoftext||<s>|<`, "|")
	parts = append(parts, "<|endoftext|>", "<|im_start|>", "<|im_end|>", "|", "||")
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for range 1 + rng.IntN(40) {
			b.WriteString(parts[rng.IntN(len(parts))])
			if rng.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		texts[i] = b.String()
	}
	return texts
}

// differing are characters that were new in Unicode 12 to 16 and whose normal form or
// small letter "tokenizers" 0.21 does not know or Go does not.
var differing = rangetable.New([]rune(span(0x1C89, 0x1C89) + span(0x32FF, 0x32FF) + span(0xA7CB, 0xA7CC) + span(0xA7DA, 0xA7DC) + span(0xA7F2, 0xA7F4) + span(0xAB69, 0xAB69) +
	span(0x10781, 0x107BA) + span(0x10D50, 0x10D65) + span(0x11938, 0x11938) + span(0x1E030, 0x1E06D) + span(0x1F16C, 0x1F16C) + span(0x1FBF0, 0x1FBF9))...)

func span(from, to rune) string {
	var b strings.Builder
	for r := from; r <= to; r++ {
		b.WriteRune(r)
	}
	return b.String()
}

// everyCharacter has all of Unicode, beside letters, digits, spaces and itself.
func everyCharacter() []string {
	var texts []string
	var b strings.Builder
	for r := rune(1); r <= 0x10FFFF; r++ {
		if r >= 0xD800 && r < 0xE000 || unicode.Is(differing, r) {
			continue
		}
		c := string(r)
		for _, s := range []string{"x", c, "y", c, c, "1", c, " ", c, " z "} {
			b.WriteString(s)
		}
		if r%64 == 0 || r == 0x10FFFF {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	return texts
}
