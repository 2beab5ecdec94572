package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// file is tokenizer.json.
type file struct {
	Model         *fileModel  `json:"model"`
	AddedTokens   []fileAdded `json:"added_tokens"`
	Normalizer    *stage      `json:"normalizer"`
	PreTokenizer  *stage      `json:"pre_tokenizer"`
	PostProcessor *stage      `json:"post_processor"`
	Decoder       *stage      `json:"decoder"`
}

type fileModel struct {
	Type         string           `json:"type"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []fileMerge      `json:"merges"`
	Unknown      *string          `json:"unk_token"`
	FuseUnknown  bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Dropout      float64          `json:"dropout"`
	Prefix       string           `json:"continuing_subword_prefix"`
	Suffix       string           `json:"end_of_word_suffix"`
}

// fileMerge is written "a b" or ["a", "b"].
type fileMerge [2]string

func (m *fileMerge) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var both []string
		if err := json.Unmarshal(b, &both); err != nil || len(both) != 2 {
			return fmt.Errorf("the merge %.40s is not a pair", b)
		}
		*m = fileMerge(both)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	var ok bool
	*m, ok = cutMerge(s)
	if !ok {
		return fmt.Errorf("the merge %.40q is not a pair", s)
	}
	return nil
}

// cutMerge takes "a b" apart. The first character belongs to a, even if it is a space.
func cutMerge(s string) (fileMerge, bool) {
	if s == "" {
		return fileMerge{}, false
	}
	left, right, ok := strings.Cut(s[1:], " ")
	return fileMerge{s[:1] + left, right}, ok && right != ""
}

type fileAdded struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// Parse reads a tokenizer.json. Its settings for truncation and padding are for
// batches of training and are not used.
func Parse(data []byte) (*Tokenizer, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("tokenizer.json has %d bytes; at most %d are read", len(data), MaxFile)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t, err := f.build()
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func (f *file) build() (*Tokenizer, error) {
	if f.Model == nil {
		return nil, errors.New("there is no model")
	}
	t := &Tokenizer{bos: -1}
	var err error
	if t.normalize, err = f.Normalizer.normalizers(0); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, err = f.PreTokenizer.splitters(0); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err = f.Decoder.decoder(&t.decoder); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	if err = f.vocabulary(t); err != nil {
		return nil, err
	}
	if err = f.Model.build(&t.model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err = f.PostProcessor.template(t, 0); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	return t, nil
}

// vocabulary places all tokens by their ids.
func (f *file) vocabulary(t *Tokenizer) error {
	size := 0
	for s, id := range f.Model.Vocab {
		if err := checkID(s, id); err != nil {
			return err
		}
		size = max(size, int(id)+1)
	}
	for _, a := range f.AddedTokens {
		if err := checkID(a.Content, a.ID); err != nil {
			return err
		}
		size = max(size, int(a.ID)+1)
	}
	t.vocab = make([]string, size)
	for s, id := range f.Model.Vocab {
		if t.vocab[id] != "" {
			return fmt.Errorf("the tokens %q and %q have one id, %d", min(s, t.vocab[id]), max(s, t.vocab[id]), id)
		}
		t.vocab[id] = s
	}
	for _, a := range f.AddedTokens {
		if id, ok := f.Model.Vocab[a.Content]; ok && id != a.ID || t.vocab[a.ID] != "" && t.vocab[a.ID] != a.Content {
			return fmt.Errorf("the added token %q has the id %d, which the vocabulary contradicts", a.Content, a.ID)
		}
		t.vocab[a.ID] = a.Content
		content, form := a.Content, rawForm
		if a.Normalized {
			form = normalForm
			for _, f := range t.normalize {
				content = f(content)
			}
		}
		t.added.put(a.Content, content, addedToken{a.ID, form, a.Special, a.SingleWord, a.LStrip, a.RStrip})
	}
	return nil
}

func checkID(token string, id int32) error {
	if token == "" {
		return fmt.Errorf("the token with id %d is empty", id)
	}
	if id < 0 || id >= MaxVocab {
		return fmt.Errorf("the token %q has the id %d; ids are from 0 to %d", token, id, MaxVocab-1)
	}
	return nil
}

func (m *fileModel) build(b *bpe) error {
	switch {
	case m.Type != "BPE" && m.Type != "":
		return fmt.Errorf("its type is %q; BPE is supported", m.Type)
	case m.Dropout != 0:
		return fmt.Errorf("dropout %v is for training", m.Dropout)
	case m.Prefix != "" || m.Suffix != "":
		return errors.New("continuing_subword_prefix and end_of_word_suffix are not supported")
	case len(m.Merges) > MaxMerges:
		return fmt.Errorf("there are %d merges; at most %d are read", len(m.Merges), MaxMerges)
	}
	*b = bpe{ids: m.Vocab, whole: m.IgnoreMerges, unknown: -1, fuse: m.FuseUnknown}
	if m.Unknown != nil {
		id, ok := m.Vocab[*m.Unknown]
		if !ok {
			return fmt.Errorf("unk_token %q is not in the vocabulary", *m.Unknown)
		}
		b.unknown = id
	}
	if m.ByteFallback {
		b.bytes = byteTokens(m.Vocab)
	}
	return b.rank(m.Merges)
}

// byteTokens are the ids of "<0x00>" to "<0xFF>", -1 where there is none.
func byteTokens(ids map[string]int32) *[256]int32 {
	var tokens [256]int32
	for c := range tokens {
		id, ok := ids[fmt.Sprintf("<0x%02X>", c)]
		if !ok {
			id = -1
		}
		tokens[c] = id
	}
	return &tokens
}

// rank makes the table of merges: the first has the best rank. Of two for one pair
// the later counts, as in "tokenizers".
func (b *bpe) rank(merges []fileMerge) error {
	b.merges = make(map[pair]merge, len(merges))
	for i, m := range merges {
		var ids [3]int32
		for j, s := range []string{m[0], m[1], m[0] + m[1]} {
			id, ok := b.ids[s]
			if !ok {
				return fmt.Errorf("merge %d, %q with %q: %q is not in the vocabulary", i, m[0], m[1], s)
			}
			ids[j] = id
		}
		b.merges[pair{ids[0], ids[1]}] = merge{int32(i), ids[2]}
	}
	return nil
}
