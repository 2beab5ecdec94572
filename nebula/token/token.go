// Package token turns text into the ids that a language model was trained on, and
// ids back into text.
//
// A tokenizer is a pipeline, read from the model's own files: Hugging Face's
// tokenizer.json or the metadata of a GGUF file.
//
//	text -> added tokens -> normalizers -> pre-tokenizers -> byte-pair encoding -> template
//	"<s>Hi you" -> <s> | "Hi you" -> "Hi" | "Ġyou" -> 17250 | 345 -> BOS … EOS
//
// Added tokens are found first, as they stand in the text; what lies between them
// is a section. A section is normalised (Unicode forms, replacements), split into
// words, and every word is encoded alone: it starts as characters and the pair with
// the best rank is merged until no pair has one. Two families exist. Byte-level
// vocabularies (GPT-2, Llama 3, Qwen2, SmolLM2) spell the 256 bytes with printable
// characters and can write anything. SentencePiece vocabularies (Llama 2, Mistral)
// hold characters, write a space as "▁", and fall back to byte tokens "<0x0A>".
//
// The results are those of the library "tokenizers" for tokenizer.json and those of
// llama.cpp for GGUF; where the two differ, each file follows its own. Only characters
// that a vocabulary cannot write are an error, where the libraries leave them out of
// the text without a word: SmolLM2 has no token for the byte 0x04. Decoding is
// the same for both: the bytes of the tokens one after another, and U+FFFD for each
// maximal part of them that is no UTF-8, whether the text is decoded at once or as a
// [Stream].
//
// Files are untrusted: sizes are bounded, and what is not supported is refused
// when the file is read. Chat templates are programs and are not run: a prompt comes
// with its special tokens written out.
package token

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of what is read.
const (
	MaxFile   = 256 << 20 // bytes of a tokenizer.json
	MaxVocab  = 1 << 22   // tokens
	MaxMerges = 1 << 23
	MaxText   = 8 << 20 // bytes of a text to encode
)

// maxWritten is the largest text after any stage, in bytes: NFKC and byte-level
// words are longer than what they are made of.
const maxWritten = 4 * MaxText

// Tokenizer maps text to ids and ids to text. It does not change after it was read
// and may be used by several goroutines at once.
type Tokenizer struct {
	vocab     []string // id -> token as the file writes it; "" where there is none
	added     addedTokens
	normalize []normalizer
	split     []splitter
	model     bpe
	decoder   decoder
	prefix    []int32 // the template around a text
	suffix    []int32
	bos       int32 // -1: none
	eos       []int32
}

// Size is one more than the largest id. The vocabulary of a model may be larger: it
// is padded.
func (t *Tokenizer) Size() int { return len(t.vocab) }

// BOS is the id of the token that begins a text, if the file names one.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.bos >= 0 }

// EOS are the ids that end a generation, the first being the usual one.
func (t *Tokenizer) EOS() []int32 { return slices.Clone(t.eos) }

// Special reports whether an id is a special token: one that never comes from
// ordinary text.
func (t *Tokenizer) Special(id int32) bool { return t.added.special[id] }

// ID is the id of a token as the file writes it, such as "<|im_end|>".
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	id, ok := t.model.ids[token]
	return id, ok
}

// Token is the bytes that an id stands for inside a text; they need not be whole
// characters. It is nil for an id that the vocabulary does not have.
func (t *Tokenizer) Token(id int32) []byte {
	if !t.has(id) {
		return nil
	}
	return []byte(t.piece(id, false))
}

func (t *Tokenizer) has(id int32) bool {
	return id >= 0 && int(id) < len(t.vocab) && t.vocab[id] != ""
}

// Encode gives the ids of a text. Special tokens written in the text become their
// ids. With template the ids are set in the model's template: BOS in front, EOS
// behind, as the file says.
func (t *Tokenizer) Encode(text string, template bool) ([]int32, error) {
	if !template {
		return t.encode(nil, text, true)
	}
	ids, err := t.encode(slices.Clone(t.prefix), text, true)
	if err != nil {
		return nil, err
	}
	return append(ids, t.suffix...), nil
}

// EncodeText gives the ids of a text in which nothing is special: "<|im_end|>" in
// it is ten characters, not the token. It is for text that somebody else wrote.
func (t *Tokenizer) EncodeText(text string) ([]int32, error) { return t.encode(nil, text, false) }

func (t *Tokenizer) encode(ids []int32, text string, special bool) ([]int32, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the text has %d bytes; at most %d are encoded at once", len(text), MaxText)
	}
	if at := invalidAt(text); at >= 0 {
		return nil, fmt.Errorf("the text is not UTF-8: byte %d is %#x", at, text[at])
	}
	var (
		work workspace
		err  error
	)
	for _, s := range t.added.find(text, rawForm, special) {
		if s.id >= 0 {
			ids = append(ids, s.id)
		} else if ids, err = t.section(&work, ids, s, special); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// section encodes what lies between two added tokens.
func (t *Tokenizer) section(work *workspace, ids []int32, s section, special bool) ([]int32, error) {
	text := s.text
	for _, f := range t.normalize {
		if text = f(text); len(text) > maxWritten {
			return nil, tooLong(len(text))
		}
	}
	for i, part := range t.added.find(text, normalForm, special) {
		if part.id >= 0 {
			ids = append(ids, part.id)
			continue
		}
		words, err := t.words(word{part.text, s.first && i == 0})
		if err != nil {
			return nil, err
		}
		for _, w := range words {
			if ids, err = t.model.encode(work, ids, w.text); err != nil {
				return nil, t.named(err)
			}
		}
	}
	return ids, nil
}

// words splits a text. Every splitter may write it longer, as the normalizers may.
func (t *Tokenizer) words(text word) ([]word, error) {
	words := []word{text}
	for _, f := range t.split {
		var err error
		if words, err = f(words); err != nil {
			return nil, err
		}
		written := 0
		for _, w := range words {
			written += len(w.text)
		}
		if written > maxWritten {
			return nil, tooLong(written)
		}
	}
	return words, nil
}

func tooLong(written int) error {
	return fmt.Errorf("the text has %d bytes as the vocabulary writes it; at most %d are encoded at once", written, maxWritten)
}

// named says a missing token in terms of the text.
func (t *Tokenizer) named(err error) error {
	m, ok := errors.AsType[missing](err)
	if !ok {
		return err
	}
	return missing(t.decoder.decode(string(m), false))
}

// invalidAt is the first byte of a text that is no UTF-8, or -1.
func invalidAt(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}
