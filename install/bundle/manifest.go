package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Schema is the version of [Manifest] and [Result].
const Schema = 1

// ManifestName is the file of the manifest in a bundle. The binary is called forge in
// all of them.
const (
	ManifestName = "forge-job.json"
	binaryName   = "forge"
)

// Manifest says what is in a bundle and what to do with it.
type Manifest struct {
	Schema   int               `json:"schema"`
	Notebook string            `json:"notebook"`
	Params   map[string]string `json:"params,omitempty"`
	Model    string            `json:"model,omitempty"` // a file, or "." for the whole folder
	Expect   string            `json:"expect,omitempty"`
	Files    []File            `json:"files"`

	id string // the hash of its text
}

// File is a file of a bundle.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// ID is the identity of the job: the hash of its manifest.
func (m *Manifest) ID() string { return m.id }

// describe reads a whole file once, also that of a large model: a changed weight is
// another job.
func describe(p part) (File, error) {
	f, err := os.Open(p.path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return File{Name: p.name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

func (m *Manifest) write(path string) error {
	raw, err := indented(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	m.id = hex.EncodeToString(sum[:])
	return os.WriteFile(path, raw, 0o644)
}
