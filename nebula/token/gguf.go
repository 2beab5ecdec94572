package token

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// preTokenizer is what a name in tokenizer.ggml.pre stands for.
type preTokenizer struct {
	exprs []string // each splits what the one before it left whole
	whole bool     // words that are tokens are not merged
	bos   bool     // unless the file says otherwise
}

const (
	llama3Expr = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Expr  = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// preTokenizers are those of the supported families, with the other names that
// llama.cpp has for the same splits.
var preTokenizers = func() map[string]preTokenizer {
	gpt2 := preTokenizer{exprs: []string{wordExpr}}
	smollm := preTokenizer{exprs: []string{`\p{N}`, wordExpr}}
	llama3 := preTokenizer{exprs: []string{llama3Expr}, whole: true, bos: true}
	qwen2 := preTokenizer{exprs: []string{qwen2Expr}}
	return map[string]preTokenizer{
		"default": {exprs: []string{`[\p{P}\$\+<=>\^~\|]+`, wordExpr, `\p{N}+`, `[0-9][0-9][0-9]`}},
		"gpt-2":   gpt2, "phi-2": gpt2, "mpt": gpt2, "olmo": gpt2,
		"smollm": smollm, "starcoder": smollm, "refact": smollm,
		"llama-bpe": llama3, "llama3": llama3, "llama-v3": llama3,
		"qwen2": qwen2, "deepseek-r1-qwen": qwen2, "stablelm2": qwen2,
	}
}()

// maxPiece is the longest token of a SentencePiece vocabulary, in bytes: it is taken
// apart in every way.
const maxPiece = 1024

// Types of tokens in tokenizer.ggml.token_type.
const (
	ggufControl     = 3
	ggufUserDefined = 4
)

// FromGGUF reads the tokenizer from the metadata of a GGUF file, as the package
// forge/weights gives it.
func FromGGUF(meta map[string]any) (*Tokenizer, error) {
	g := ggufMeta{meta: meta}
	t := &Tokenizer{bos: -1}
	g.vocabulary(t)
	switch model := get[string](&g, "model", ""); {
	case g.err != nil:
	case model == "gpt2":
		g.byteLevel(t)
	case model == "llama":
		g.sentencePiece(t)
	case model == "":
		g.fail("it is missing: the file has no tokenizer")
	default:
		g.fail("it is %q; gpt2 and llama are supported", model)
	}
	g.template(t)
	if g.err != nil {
		return nil, g.err
	}
	return t, nil
}

// ggufMeta reads the keys of tokenizer.ggml. The first error stays.
type ggufMeta struct {
	meta map[string]any
	key  string // that was read last
	err  error
}

func (g *ggufMeta) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("tokenizer.ggml.%s: %s", g.key, fmt.Sprintf(format, args...))
	}
}

// get is the value of a key, or what it is without one.
func get[T any](g *ggufMeta, key string, otherwise T) T {
	g.key = key
	value, ok := g.meta["tokenizer.ggml."+key]
	if !ok {
		return otherwise
	}
	v, ok := value.(T)
	if !ok {
		g.fail("it is a %T, not a %T", value, otherwise)
	}
	return v
}

// none is how a file says that there is no such token.
const none = 1<<32 - 1

// id is an id of the vocabulary, or -1.
func (g *ggufMeta) id(t *Tokenizer, key string, otherwise uint32) int32 {
	id := get(g, key, otherwise)
	if id < MaxVocab && t.has(int32(id)) {
		return int32(id)
	}
	if _, said := g.meta["tokenizer.ggml."+key]; said && id != none {
		g.fail("there is no token %d", id)
	}
	return -1
}

func (g *ggufMeta) vocabulary(t *Tokenizer) {
	tokens := get[[]string](g, "tokens", nil)
	if len(tokens) == 0 || len(tokens) > MaxVocab {
		g.fail("there are %d tokens; from 1 to %d are read", len(tokens), MaxVocab)
		return
	}
	t.vocab = slices.Clone(tokens)
	t.model = bpe{ids: make(map[string]int32, len(tokens)), unknown: -1}
	for id, s := range tokens {
		if _, ok := t.model.ids[s]; !ok {
			t.model.ids[s] = int32(id)
		}
	}
	types := get[[]int32](g, "token_type", nil)
	if types != nil && len(types) != len(tokens) {
		g.fail("it has %d types for %d tokens", len(types), len(tokens))
		return
	}
	for id, kind := range types {
		if kind == ggufControl || kind == ggufUserDefined {
			t.added.put(tokens[id], tokens[id], addedToken{id: int32(id), special: kind == ggufControl})
		}
	}
}

// byteLevel is the model "gpt2". It has no add_space_prefix, whatever the file says.
func (g *ggufMeta) byteLevel(t *Tokenizer) {
	name := get(g, "pre", "default")
	pre, ok := preTokenizers[name]
	if !ok {
		g.fail("%q is not supported; those are %q", name, slices.Sorted(maps.Keys(preTokenizers)))
		return
	}
	for _, expr := range pre.exprs {
		match, err := compile(expr)
		if err != nil {
			g.fail("%v", err)
			return
		}
		t.split = append(t.split, splitAt(match, isolated, false))
	}
	t.split = append(t.split, byteLevel())
	t.decoder = decoder{steps: []decodeStep{fromByteLevel}, literal: true}
	t.model.whole = pre.whole
	lines := get[[]string](g, "merges", nil)
	if len(lines) > MaxMerges {
		g.fail("there are %d; at most %d are read", len(lines), MaxMerges)
		return
	}
	merges := make([]fileMerge, len(lines))
	for i, s := range lines {
		var ok bool
		if merges[i], ok = cutMerge(s); !ok {
			g.fail("merge %d, %.40q, is not a pair", i, s)
			return
		}
	}
	if err := t.model.rank(merges); err != nil {
		g.fail("%v", err)
	}
}

// sentencePiece is the model "llama": the pair whose token has the best score joins
// first.
func (g *ggufMeta) sentencePiece(t *Tokenizer) {
	const space = "▁"
	t.decoder.literal = true
	if get(g, "add_space_prefix", true) {
		t.normalize = append(t.normalize, prepend(" "))
		t.decoder.strip, t.decoder.space = 1, ' '
	}
	t.normalize = append(t.normalize, replace(" ", space))
	t.decoder.steps = []decodeStep{replaceToken(space, " "), byteToken}
	t.model.bytes = byteTokens(t.model.ids)
	t.model.unknown = g.id(t, "unknown_token_id", 0)
	if at := slices.IndexFunc(t.vocab, func(s string) bool { return len(s) > maxPiece }); at >= 0 {
		g.fail("token %d has more than %d bytes", at, maxPiece)
		return
	}
	scores := get[[]float32](g, "scores", nil)
	if len(scores) != len(t.vocab) {
		g.fail("there are %d scores for %d tokens", len(scores), len(t.vocab))
		return
	}
	if at := slices.IndexFunc(scores, func(s float32) bool { return s != s }); at >= 0 {
		g.fail("the score of token %d is not a number", at)
		return
	}
	if n := t.model.rankScores(t.vocab, scores); n > MaxMerges {
		g.fail("the tokens can be put together from pairs in more than %d ways", MaxMerges)
	}
}

// rankScores makes the table of merges from scores: every way in which two tokens
// make a third, ranked by the third's score. It returns how many there are and stops
// beyond MaxMerges.
func (b *bpe) rankScores(vocab []string, scores []float32) int {
	order := make([]int32, len(vocab))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(scores[y], scores[x]) })
	b.merges = make(map[pair]merge)
	rank := int32(0)
	for i, id := range order {
		if i > 0 && scores[id] != scores[order[i-1]] {
			rank++
		}
		token := vocab[id]
		if b.ids[token] != id {
			continue // another id is written the same and is the one that is used
		}
		for cut := range token {
			left, okLeft := b.ids[token[:cut]]
			right, okRight := b.ids[token[cut:]]
			if !okLeft || !okRight {
				continue
			}
			b.merges[pair{left, right}] = merge{rank, id}
			if len(b.merges) > MaxMerges {
				return len(b.merges)
			}
		}
	}
	return len(b.merges)
}

// template reads which tokens are set around a text and which end one.
func (g *ggufMeta) template(t *Tokenizer) {
	llama := get(g, "model", "") == "llama"
	bos, eos := uint32(none), uint32(none)
	if llama {
		bos, eos = 1, 2 // SentencePiece's own
	}
	t.bos = g.id(t, "bos_token_id", bos)
	end := g.id(t, "eos_token_id", eos)
	if get(g, "add_bos_token", llama || preTokenizers[get(g, "pre", "")].bos) {
		if g.key = "bos_token_id"; t.bos < 0 {
			g.fail("it is missing, and add_bos_token is set")
		}
		t.prefix = []int32{t.bos}
	}
	if get(g, "add_eos_token", false) {
		if g.key = "eos_token_id"; end < 0 {
			g.fail("it is missing, and add_eos_token is set")
		}
		t.suffix = []int32{end}
	}
	t.ends(end)
	for _, key := range []string{"eot_token_id", "eom_token_id"} {
		t.ends(g.id(t, key, none))
	}
}
