package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"syscall"

	"forgekernel/forge/textfile"
)

// Version is that of the files. A change of meaning makes a new one.
const Version = 2

// MaxFile bounds the files that are read, in bytes.
const MaxFile = 64 << 20

const format = "forge.capture"

// envelope is a file: a capture and the hash of its text without white space.
// The hash is of the text and not of what was read from it, so that it holds
// whatever a later program knows of the fields.
type envelope struct {
	Format  string          `json:"format"` // "forge.capture"
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Capture json.RawMessage `json:"capture"`
}

// Encode returns a capture as the content of a file. It fails for a capture that
// [Decode] would refuse.
func Encode(c *Capture) ([]byte, error) {
	if err := Verify(c); err != nil {
		return nil, err
	}
	return Seal(format, Version, c)
}

// Seal returns a measurement, of this package or of another one, as the content of a
// file that carries its hash.
func Seal(format string, version int, measurement any) ([]byte, error) {
	body, err := json.Marshal(measurement)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(envelope{format, version, hash(body), body}, "", " ")
	if err != nil {
		return nil, err
	}
	raw = numberList.ReplaceAllFunc(raw, func(list []byte) []byte { return space.ReplaceAll(list, nil) })
	if len(raw) >= MaxFile {
		return nil, fmt.Errorf("the capture has %d bytes; a file has at most %d", len(raw), MaxFile)
	}
	return append(raw, '\n'), nil
}

// numberList is an indented list of numbers, which Seal writes on one line. No
// text of JSON holds a line break, so that it finds nothing else.
var numberList, space = regexp.MustCompile(`\[\n[-+0-9.eE,\s]+\]`), regexp.MustCompile(`\s`)

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Hash is the SHA-256 that the file of a capture carries.
func Hash(c *Capture) (string, error) {
	body, err := json.Marshal(c)
	return hash(body), err
}

// Decode reads the content of a file and verifies it: see [Verify].
func Decode(raw []byte) (*Capture, error) {
	c := new(Capture)
	if err := Unseal(raw, format, Version, c); err != nil {
		return nil, err
	}
	return c, Verify(c)
}

// Unseal reads what [Seal] wrote with the same format and version, every field of which
// into knows. It checks the hash.
func Unseal(raw []byte, format string, version int, into any) error {
	var e envelope
	if err := strict(raw, &e); err != nil {
		return err
	}
	if e.Format != format {
		return fmt.Errorf("format is %q, not %q", e.Format, format)
	}
	if e.Version != version {
		return fmt.Errorf("version %d; this program reads version %d", e.Version, version)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, e.Capture); err != nil {
		return err
	}
	if sum := hash(body.Bytes()); sum != e.SHA256 {
		return fmt.Errorf("the content has the SHA-256 %s, not %q: it was changed after it was written", sum, e.SHA256)
	}
	return strict(body.Bytes(), into)
}

// strict decodes one value, in which every field is known.
func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return textfile.JSONError(raw, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the capture")
	}
	return nil
}

// Read reads and verifies the file of a capture.
func Read(path string) (*Capture, error) {
	raw, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadFile reads a regular file of at most [MaxFile] bytes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe, too, at once
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxFile {
		return nil, fmt.Errorf("%s has more than %d bytes, the limit for a capture", path, MaxFile)
	}
	if raw, err = textfile.Decode(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return raw, nil
}
