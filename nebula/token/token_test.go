package token

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// golden is what "tokenizers" gives for a text: see testdata/tiny.py.
type golden struct {
	text                 string
	ids, template, text0 []int32
	decoded, special     string
}

func (g *golden) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&g.text, &g.ids, &g.template, &g.text0, &g.decoded, &g.special})
}

func goldens(t testing.TB) map[string][]golden {
	t.Helper()
	b, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]golden
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Open("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// Ids and texts of ten kinds of tokenizers are those that "tokenizers" gives.
func TestGoldens(t *testing.T) {
	for name, cases := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			tok := open(t, name)
			for _, c := range cases {
				for _, way := range []struct {
					name   string
					want   []int32
					encode func() ([]int32, error)
				}{
					{"Encode", c.ids, func() ([]int32, error) { return tok.Encode(c.text, false) }},
					{"Encode in the template", c.template, func() ([]int32, error) { return tok.Encode(c.text, true) }},
					{"EncodeText", c.text0, func() ([]int32, error) { return tok.EncodeText(c.text) }},
				} {
					ids, err := way.encode()
					if err != nil {
						t.Errorf("%s %q: %v", way.name, c.text, err)
					} else if !slices.Equal(ids, way.want) {
						t.Errorf("%s %q:\n got %v %q\nwant %v %q", way.name, c.text, ids, spelled(tok, ids), way.want, spelled(tok, way.want))
					}
				}
				if got := tok.Decode(c.template, false); got != c.decoded {
					t.Errorf("Decode of %q: %q, want %q", c.text, got, c.decoded)
				}
				if got := tok.Decode(c.template, true); got != c.special {
					t.Errorf("Decode of %q with special tokens: %q, want %q", c.text, got, c.special)
				}
			}
		})
	}
}

func spelled(t *Tokenizer, ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, t.vocab[id])
	}
	return strings.Join(s, "|")
}
