package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// batchLine is a line of the input. What it leaves out is as the flags say.
type batchLine struct {
	ID                json.RawMessage `json:"id" takes:"a value"`
	Prompt            *string         `json:"prompt" takes:"a text"`
	IDs               []int32         `json:"ids" takes:"a list of tokens such as [1, 2, 3]"`
	MaxTokens         *int            `json:"max_tokens" takes:"a whole number"`
	Temperature       *float64        `json:"temperature" takes:"a number"`
	TopK              *int            `json:"top_k" takes:"a whole number"`
	TopP              *float64        `json:"top_p" takes:"a number"`
	MinP              *float64        `json:"min_p" takes:"a number"`
	RepetitionPenalty *float64        `json:"repetition_penalty" takes:"a number"`
	Seed              *uint64         `json:"seed" takes:"a whole number that is not negative"`
	Stop              *[]string       `json:"stop" takes:"a list of texts such as [\"\\n\"]"`
	LogProbs          *int            `json:"logprobs" takes:"a whole number"`
}

// parseBatchLine reads one line: an object of known fields, each once.
func parseBatchLine(raw []byte) (l batchLine, err error) {
	if at := invalidUTF8(raw); at >= 0 {
		return l, fmt.Errorf("it is not UTF-8: byte %d is %#02x", at, raw[at])
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil {
		return l, noJSON(raw, dec, err)
	} else if open != json.Delim('{') {
		return l, fmt.Errorf("it is %s; it must be an object such as {\"prompt\": \"Once\"}", brief(raw))
	}
	given := make(map[string]bool)
	for dec.More() {
		name, value, err := member(dec)
		if err != nil {
			return l, noJSON(raw, dec, err)
		}
		if given[name] {
			return l, fmt.Errorf("field %q is given twice", name)
		}
		given[name] = true
		if err := l.set(name, value); err != nil {
			return l, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return l, noJSON(raw, dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("something follows the object")
	}
	if (l.Prompt == nil) == (l.IDs == nil) {
		return l, errors.New(`it must have one of the fields "prompt" and "ids"`)
	}
	return l, nil
}

// member is the next name and value of an object.
func member(dec *json.Decoder) (name string, value json.RawMessage, err error) {
	key, err := dec.Token()
	if err == nil {
		name, _ = key.(string) // what else there could be is an error of the next line
		err = dec.Decode(&value)
	}
	return name, value, err
}

// set takes the value of a field.
func (l *batchLine) set(name string, value json.RawMessage) error {
	into := reflect.ValueOf(l).Elem()
	var names []string
	for i := range into.NumField() {
		f := into.Type().Field(i)
		names = append(names, f.Tag.Get("json"))
		if f.Tag.Get("json") != name {
			continue
		}
		if err := json.Unmarshal(value, into.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("field %q is %s; it must be %s", name, brief(value), f.Tag.Get("takes"))
		}
		return nil
	}
	return fmt.Errorf("there is no field %q; there are %s", name, strings.Join(names, ", "))
}

// noJSON is the error of a line that is no JSON, or not all of it.
func noJSON(raw []byte, dec *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is not JSON: it ends too early, after %s", brief(raw))
	}
	at := dec.InputOffset()
	if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
		at = max(at, s.Offset-1)
	}
	at = min(at, int64(len(raw)))
	at = int64(len(raw) - len(bytes.TrimLeft(raw[at:], " \t")))
	return fmt.Errorf("it is not JSON from column %d on: %s", utf8.RuneCount(raw[:at])+1, brief(raw[at:]))
}

// briefLength is how much of a line an error repeats, in bytes.
const briefLength = 40

// brief is the beginning of a text on one line.
func brief(raw []byte) string {
	s := strings.Join(strings.Fields(string(raw)), " ")
	if len(s) <= briefLength {
		return s
	}
	return strings.ToValidUTF8(s[:briefLength], "") + "…"
}

// invalidUTF8 is the first byte of a text that is no UTF-8; -1 if there is none.
func invalidUTF8(raw []byte) int {
	for at := 0; at < len(raw); {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// set takes a value that is given.
func set[T any](into *T, value *T) {
	if value != nil {
		*into = *value
	}
}

// sampling are the choices of a line, on top of those of the flags.
func (l *batchLine) sampling(s sampling) sampling {
	set(&s.MaxTokens, l.MaxTokens)
	set(&s.Temperature, l.Temperature)
	set(&s.TopK, l.TopK)
	set(&s.TopP, l.TopP)
	set(&s.MinP, l.MinP)
	set(&s.RepetitionPenalty, l.RepetitionPenalty)
	set(&s.Seed, l.Seed)
	set(&s.Stop, l.Stop)
	set(&s.LogProbs, l.LogProbs)
	return s
}
