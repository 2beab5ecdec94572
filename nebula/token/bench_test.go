package token

import (
	"os"
	"strings"
	"testing"
)

// The time of words is that of the split and of the merges. FORGE_TOKENIZER names a
// real tokenizer to measure.
func BenchmarkEncode(b *testing.B) {
	path := os.Getenv("FORGE_TOKENIZER")
	if path == "" {
		path = "testdata/llama3.json"
	}
	t, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	doc, err := os.ReadFile("token.go")
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"code": strings.Repeat(string(doc), 10), "one word": strings.Repeat("ab", 20_000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.EncodeText(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
