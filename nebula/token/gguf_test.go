package token

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// llamaGoldens are what llama.cpp gives: see testdata/llama.py.
type llamaGoldens struct {
	Tokenizer, Model, Pre string
	Space                 bool     // add_space_prefix is not off
	Pieces                []string // of each id, bytes as Latin-1
	Cases                 []llamaGolden
}

type llamaGolden struct {
	text                 string
	ids, template, plain []int32
}

func (g *llamaGolden) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&g.text, &g.ids, &g.template, &g.plain})
}

// metaOf is the metadata that testdata/llama.py makes of a tokenizer.json.
func metaOf(t testing.TB, name, model, pre string) map[string]any {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	rank := make(map[string]int)
	var merges []string
	for i, m := range f.Model.Merges {
		if _, ok := rank[m[0]+m[1]]; !ok {
			rank[m[0]+m[1]] = i
		}
		merges = append(merges, m[0]+" "+m[1])
	}
	types, scores := make([]int32, tok.Size()), make([]float32, tok.Size())
	for id, s := range tok.vocab {
		types[id] = 1
		if special, added := tok.added.special[int32(id)]; added && special {
			types[id] = ggufControl
		} else if added {
			types[id] = ggufUserDefined
		} else if strings.HasPrefix(s, "<0x") {
			types[id] = 6
		}
		scores[id] = -100000
		if r, ok := rank[s]; ok {
			scores[id] = -float32(r)
		}
	}
	meta := map[string]any{"model": model, "pre": pre, "tokens": tok.vocab, "token_type": types, "unknown_token_id": uint32(0), "bos_token_id": uint32(1), "eos_token_id": uint32(2)}
	if model == "llama" {
		meta["scores"] = scores
	} else {
		meta["merges"] = merges
	}
	return prefixed(meta)
}

func prefixed(meta map[string]any) map[string]any {
	all := make(map[string]any)
	for k, v := range meta {
		all["tokenizer.ggml."+k] = v
	}
	return all
}

// Ids and pieces from GGUF metadata are those that llama.cpp gives.
func TestLlamaGoldens(t *testing.T) {
	b, err := os.ReadFile("testdata/llama.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []llamaGoldens
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		t.Run(g.Model+"/"+g.Pre, func(t *testing.T) {
			meta := metaOf(t, g.Tokenizer, g.Model, g.Pre)
			if !g.Space {
				meta["tokenizer.ggml.add_space_prefix"] = false
			}
			tok, err := FromGGUF(meta)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range g.Cases {
				for i, want := range [][]int32{c.ids, c.template, c.plain} {
					encode := []func() ([]int32, error){
						func() ([]int32, error) { return tok.Encode(c.text, false) },
						func() ([]int32, error) { return tok.Encode(c.text, true) },
						func() ([]int32, error) { return tok.EncodeText(c.text) },
					}[i]
					ids, err := encode()
					if err != nil {
						t.Errorf("%q: %v", c.text, err)
					} else if !slices.Equal(ids, want) {
						t.Errorf("way %d of %q:\n got %v %q\nwant %v %q", i, c.text, ids, spelled(tok, ids), want, spelled(tok, want))
					}
				}
			}
			for id, want := range g.Pieces {
				if got := latin1(tok.Token(int32(id))); got != want {
					t.Errorf("Token(%d) %q: %q, want %q", id, tok.vocab[id], got, want)
				}
			}
		})
	}
}

func latin1(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}
