// Package sealed keeps values as JSON files that carry their own hash, so that what was
// damaged or edited is not taken for a measurement:
//
//	{"format": "forge.tuning", "version": 1, "sha256": "…", "record": {…}}
//
// The hash is that of the record's text without white space.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Kind is a kind of files.
type Kind struct {
	Format  string // "forge.tuning"
	Version int    // a change of meaning makes a new one
	Limit   int64  // of a file, in bytes
}

// envelope is a file.
type envelope struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Record  json.RawMessage `json:"record"`
}

// Encode is a value as the content of a file.
func (k Kind) Encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(envelope{k.Format, k.Version, hash(body), body}, "", " ")
	if err == nil && int64(len(raw)) >= k.Limit {
		err = fmt.Errorf("the record has %d bytes; a file has at most %d", len(raw), k.Limit)
	}
	return append(raw, '\n'), err
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Decode reads the content of a file into v and checks its hash.
func (k Kind) Decode(raw []byte, v any) error {
	var e envelope
	if err := strict(raw, &e); err != nil {
		return err
	}
	if e.Format != k.Format || e.Version != k.Version {
		return fmt.Errorf("it is %q, version %d; this program reads %q, version %d", e.Format, e.Version, k.Format, k.Version)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, e.Record); err != nil {
		return err
	}
	if hash(body.Bytes()) != e.SHA256 {
		return errors.New("its content does not have the SHA-256 that it carries")
	}
	return strict(body.Bytes(), v)
}

// strict decodes one value, in which every field is known.
func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the record")
	}
	return nil
}

// Save puts the content of a file into a folder, in place of an older one, and returns
// its path.
func Save(dir, name string, raw []byte) (string, error) {
	path := filepath.Join(dir, name)
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

// Read reads a file of this kind into v.
func (k Kind) Read(path string, v any) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > k.Limit {
		return fmt.Errorf("it is not a regular file of at most %d bytes", k.Limit)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return k.Decode(raw, v)
}

// Reseal gives the content of a file the hash that its record has, for fuzzers that are
// to get behind it. What is no such content stays as it is.
func Reseal(raw []byte) []byte {
	var e envelope
	var body bytes.Buffer
	if json.Unmarshal(raw, &e) != nil || json.Compact(&body, e.Record) != nil {
		return raw
	}
	e.SHA256 = hash(body.Bytes())
	sealed, err := json.Marshal(e)
	if err != nil {
		return raw
	}
	return sealed
}
