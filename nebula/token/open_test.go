package token

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small is a tokenizer.json with a part of it replaced.
func small(old, new string) string {
	const text = `{"added_tokens":[{"id":4,"content":"<s>","special":true}],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},` +
		`"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"?":3},"merges":["a b"]}}`
	if !strings.Contains(text, old) {
		panic(old)
	}
	return strings.Replace(text, old, new, 1)
}

// A file that is wrong or not supported is refused with one sentence that says where.
func TestParseErrors(t *testing.T) {
	if tok, err := Parse([]byte(small("", ""))); err != nil || tok.Size() != 5 {
		t.Fatalf("%v", err)
	}
	pre := func(s string) string { return small(`"pre_tokenizer":null`, `"pre_tokenizer":`+s) }
	norm := func(s string) string { return small(`"normalizer":null`, `"normalizer":`+s) }
	dec := func(s string) string { return small(`{"type":"Fuse"}`, s) }
	post := func(s string) string { return small(`"post_processor":null`, `"post_processor":`+s) }
	for _, c := range []struct{ file, want string }{
		{"", "unexpected end of JSON"}, {"{}", "there is no model"}, {"[]", "cannot unmarshal array"},
		{small(`"BPE"`, `"WordPiece"`), `model: its type is "WordPiece"; BPE is supported`},
		{small(`"b":1`, `"b":0`), `the tokens "a" and "b" have one id, 0`},
		{small(`"b":1`, `"b":-1`), `the token "b" has the id -1`}, {small(`"b":1`, `"b":4194304`), `the token "b" has the id 4194304`},
		{small(`"b":1`, `"b":1e30`), "cannot unmarshal number"}, {small(`"?":3`, `"":3`), "the token with id 3 is empty"},
		{small(`"id":4`, `"id":1`), `the added token "<s>" has the id 1, which the vocabulary contradicts`},
		{small(`"a b"`, `"a c"`), `model: merge 0, "a" with "c": "c" is not in the vocabulary`}, {small(`"a b"`, `"b a"`), `"ba" is not in the vocabulary`},
		{small(`"a b"`, `"ab"`), `the merge "ab" is not a pair`}, {small(`"a b"`, `["a"]`), `the merge ["a"] is not a pair`}, {small(`"a b"`, `""`), `is not a pair`}, {small(`"a b"`, `7`), "cannot unmarshal number"},
		{small(`"merges"`, `"dropout":0.1,"merges"`), "dropout 0.1"}, {small(`"merges"`, `"end_of_word_suffix":"</w>","merges"`), "end_of_word_suffix"},
		{small(`"merges"`, `"unk_token":"<unk>","merges"`), `unk_token "<unk>" is not in the vocabulary`},
		{dec(`{"type":"Replace","pattern":{"String":"a"},"content":"bb"}`), `decoder: a Replace of "a" by "bb" makes tokens longer`},
		{dec(`{"type":"Sequence","decoders":[` + strings.Repeat(`{"type":"ByteFallback"},`, 64) + `{"type":"Fuse"}]}`), "decoder: there are more than 64 stages"},
		{norm(`{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`, 64) + `{"type":"NFC"}]}`), "normalizer: there are more than 64 stages"},
		{pre(`{"type":"BertPreTokenizer"}`), `pre_tokenizer: the type "BertPreTokenizer" is not supported`},
		{pre(`{"type":"Split","behavior":"Isolated","pattern":{"Regex":"(a"}}`), `pre_tokenizer: the expression "(a"`},
		{pre(`{"type":"Split","behavior":"Isolated"}`), "there is no pattern"}, {pre(`{"type":"Split","behavior":"Odd","pattern":{"String":"a"}}`), `the behavior "Odd" is unknown`},
		{pre(`{"type":"Metaspace","replacement":"__"}`), `the replacement "__" is not one character`}, {pre(`{"type":"Metaspace","replacement":"_","prepend_scheme":"odd"}`), `the prepend_scheme "odd" is unknown`},
		{pre(strings.Repeat(`{"type":"Sequence","pretokenizers":[`, 9) + strings.Repeat(`]}`, 9)), "sequences are nested more than 8 deep"},
		{norm(`{"type":"Precompiled"}`), `normalizer: the type "Precompiled" is not supported`}, {norm(`{"type":"Replace","pattern":{"Regex":"a"},"content":""}`), "a Replace needs a pattern that is a text"},
		{norm(`{"type":"Prepend","prepend":"` + strings.Repeat("x", 33) + `"}`), "at most 32 bytes"},
		{dec(`{"type":"WordPiece"}`), `decoder: the type "WordPiece" is not supported`}, {dec(`{"type":"Strip","content":" ","start":1}`), "Strip"}, {dec(`{"type":"Sequence","decoders":[null]}`), "a part of the sequence is missing"},
		{post(`{"type":"BertProcessing"}`), `post_processor: the type "BertProcessing" is not supported`},
		{post(`{"type":"TemplateProcessing","single":[]}`), "the template of one text has 0"}, {post(`{"type":"TemplateProcessing","single":[{}]}`), "neither a Sequence nor a SpecialToken"},
		{post(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}]}`), `the template names "<s>", which special_tokens lacks`},
		{post(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],"special_tokens":{"<s>":{"ids":[9]}}}`), "the template has the id 9"},
	} {
		if _, err := Parse([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v, not %q", c.file, err, c.want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	tok := open(t, "gpt2")
	if _, err := tok.EncodeText("ok\xffno"); err == nil || err.Error() != "the text is not UTF-8: byte 2 is 0xff" {
		t.Error(err)
	}
	if _, err := tok.EncodeText(strings.Repeat("a", MaxText+1)); err == nil || !strings.Contains(err.Error(), "at most 8388608") {
		t.Error(err)
	}
	lacking, err := Parse([]byte(small(`{"type":"Fuse"}`, `{"type":"ByteLevel"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lacking.EncodeText("ab\u0104"); err == nil || err.Error() != `the vocabulary has no token for "\x04"` {
		t.Error(err)
	}
	match, err := compileWithin(`(?:a|aa)+$`, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := match(strings.Repeat("a", 200) + "b"); err == nil || !strings.Contains(err.Error(), "is not matched within 1ns: it backtracks") {
		t.Error(err)
	}
	grows, err := Parse([]byte(small(`"normalizer":null`, `"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("b", 32)+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grows.EncodeText(strings.Repeat("a", 1<<22)); err == nil || !strings.Contains(err.Error(), "as the vocabulary writes it") {
		t.Error(err)
	}
	doubles := `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`
	grows, err = Parse([]byte(small(`"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+doubles+strings.Repeat(","+doubles, 39)+`]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grows.EncodeText("é"); err == nil || !strings.Contains(err.Error(), "the text has 67108864 bytes as the vocabulary writes it") {
		t.Error(err)
	}
}

// An added token stands for itself, also where its letters could be read as bytes.
func TestLiteralTokens(t *testing.T) {
	tok, err := Parse([]byte(strings.Replace(small(`{"type":"Fuse"}`, `{"type":"ByteLevel"}`), `"<s>"`, `"é"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode("aéb", false)
	if got := tok.Decode(ids, true); err != nil || got != "aéb" {
		t.Errorf("%v %q %v", ids, got, err)
	}
}

// A folder names BOS and EOS beside tokenizer.json, in any of the ways in use.
func TestOpenFolder(t *testing.T) {
	id := func(tok *Tokenizer, s string) int32 {
		id, ok := tok.ID(s)
		if !ok {
			t.Fatalf("%q is no token", s)
		}
		return id
	}
	src, err := os.ReadFile("testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		files map[string]string
		bos   string
		eos   []string
		err   string
	}{
		{nil, "", nil, ""},
		{map[string]string{"tokenizer_config.json": `{"bos_token":"<s>","eos_token":{"content":"</s>"}}`}, "<s>", []string{"</s>"}, ""},
		{map[string]string{"tokenizer_config.json": `{"bos_token":null,"eos_token":"<|im_end|>"}`, "generation_config.json": `{"bos_token_id":1,"eos_token_id":[2,4]}`}, "<s>", []string{"<|im_end|>", "</s>"}, ""},
		{map[string]string{"config.json": `{"bos_token_id":1,"eos_token_id":2}`}, "<s>", []string{"</s>"}, ""},
		{map[string]string{"config.json": `{"eos_token_id":2}`, "generation_config.json": `{"eos_token_id":4}`}, "", []string{"<|im_end|>"}, ""},
		{map[string]string{"config.json": `{"eos_token_id":null,"bos_token_id":99999}`}, "", nil, ""},
		{map[string]string{"config.json": `{"eos_token_id":"x"}`}, "", nil, "config.json"},
		{map[string]string{"tokenizer_config.json": `{`}, "", nil, "tokenizer_config.json"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), src, 0o600); err != nil {
			t.Fatal(err)
		}
		tok, err := Open(dir)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("case %d: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		bos, ok := tok.BOS()
		if ok != (c.bos != "") || ok && bos != id(tok, c.bos) {
			t.Errorf("case %d: BOS %d %v", i, bos, ok)
		}
		var eos []int32
		for _, s := range c.eos {
			eos = append(eos, id(tok, s))
		}
		if !slices.Equal(tok.EOS(), eos) {
			t.Errorf("case %d: EOS %v, not %v", i, tok.EOS(), eos)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open("testdata/none.gguf"); err == nil {
		t.Error("a file that is not there is opened")
	}
}

func TestGGUFErrors(t *testing.T) {
	base := func() map[string]any { return metaOf(t, "gpt2", "gpt2", "gpt-2") }
	sp := func() map[string]any { return metaOf(t, "llama2", "llama", "default") }
	for _, c := range []struct {
		from  func() map[string]any
		key   string
		value any // nil removes it
		want  string
	}{
		{base, "model", nil, "tokenizer.ggml.model: it is missing"}, {base, "model", "bert", `it is "bert"; gpt2 and llama`}, {base, "model", int32(1), "it is a int32, not a string"},
		{base, "pre", "odd", `tokenizer.ggml.pre: "odd" is not supported; those are ["deepseek-r1-qwen" "default" "gpt-2"`}, {base, "tokens", nil, "there are 0 tokens"}, {base, "tokens", []int32{1}, "not a []string"},
		{base, "merges", []string{"ab"}, `merge 0, "ab", is not a pair`}, {base, "merges", []string{"\u0120 \u2603"}, "is not in the vocabulary"}, {base, "token_type", []int32{1}, "it has 1 types"},
		{base, "bos_token_id", uint32(1 << 20), "tokenizer.ggml.bos_token_id: there is no token 1048576"}, {base, "eos_token_id", int32(1), "it is a int32, not a uint32"},
		{base, "eot_token_id", uint32(1 << 31), "there is no token 2147483648"}, {sp, "scores", nil, "there are 0 scores"},
	} {
		meta := c.from()
		if meta["tokenizer.ggml."+c.key] = c.value; c.value == nil {
			delete(meta, "tokenizer.ggml."+c.key)
		}
		if _, err := FromGGUF(meta); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: %v, not %q", c.key, c.value, err, c.want)
		}
	}
	meta := base()
	delete(meta, "tokenizer.ggml.bos_token_id")
	meta["tokenizer.ggml.add_bos_token"] = true
	if _, err := FromGGUF(meta); err == nil || !strings.Contains(err.Error(), "bos_token_id: it is missing, and add_bos_token is set") {
		t.Error(err)
	}
	long := sp()
	tokens := slices.Clone(long["tokenizer.ggml.tokens"].([]string))
	tokens[40] = strings.Repeat("x", 1025)
	long["tokenizer.ggml.tokens"] = tokens
	if _, err := FromGGUF(long); err == nil || !strings.Contains(err.Error(), "token 40 has more than 1024 bytes") {
		t.Error(err)
	}
	if _, err := FromGGUF(nil); err == nil {
		t.Error("no metadata is a tokenizer")
	}
}

// Ends of generation come from the keys that say so, the usual one first.
func TestGGUFEnds(t *testing.T) {
	meta := metaOf(t, "gpt2", "gpt2", "smollm")
	meta["tokenizer.ggml.eot_token_id"], meta["tokenizer.ggml.eom_token_id"] = uint32(4), uint32(2)
	tok, err := FromGGUF(meta)
	if err != nil {
		t.Fatal(err)
	}
	if bos, ok := tok.BOS(); !ok || bos != 1 || !slices.Equal(tok.EOS(), []int32{2, 4}) {
		t.Errorf("BOS %d, EOS %v", bos, tok.EOS())
	}
}

// Whatever a file says, reading it and using what was read ends without a panic, and
// ids are in the vocabulary.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"digits", "llama2", "metaspace"} {
		b, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(b, &parts); err != nil {
			f.Fatal(err)
		}
		file := small(`"pre_tokenizer":null`, `"pre_tokenizer":`+string(parts["pre_tokenizer"]))
		file = strings.Replace(file, `"normalizer":null`, `"normalizer":`+string(parts["normalizer"]), 1)
		f.Add([]byte(strings.Replace(file, `{"type":"Fuse"}`, string(parts["decoder"]), 1)), "ab ▁ <s>?")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Parse(data)
		if err == nil {
			use(t, tok, text)
		}
	})
}

func FuzzGGUF(f *testing.F) {
	f.Add("a b ab <s> ▁ <0x41>", "a|b", "llama", "default", int64(1), "ab a")
	f.Add("a b ab <s> Ġ", "a b", "gpt2", "smollm", int64(2), "ab 12")
	f.Add(" b", "a|b", "llama", "default", int64(1), "ab a") // the unknown token is empty
	f.Fuzz(func(t *testing.T, tokens, merges, model, pre string, seed int64, text string) {
		list := strings.Split(tokens, " ")
		types, scores := make([]int32, len(list)), make([]float32, len(list))
		for i := range list {
			types[i], scores[i] = int32(seed>>(i%16))&7, float32(seed>>(i%8)&15)
		}
		tok, err := FromGGUF(prefixed(map[string]any{"model": model, "pre": pre, "tokens": list, "token_type": types, "scores": scores, "merges": strings.Split(merges, "|"),
			"bos_token_id": uint32(seed & 3), "eos_token_id": uint32(seed & 3), "add_bos_token": seed&4 != 0, "add_space_prefix": seed&8 != 0}))
		if err == nil {
			use(t, tok, text)
		}
	})
}

func use(t *testing.T, tok *Tokenizer, text string) {
	ids, err := tok.Encode(text, true)
	if err != nil {
		return
	}
	for _, id := range ids {
		if tok.Token(id) == nil {
			t.Fatal(fmt.Errorf("the id %d is not in the vocabulary", id))
		}
	}
	tok.Decode(ids, false)
	tok.Decode(ids, true)
}
