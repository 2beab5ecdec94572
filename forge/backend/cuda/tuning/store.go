package tuning

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"forgekernel/forge/backend/objects"
	"forgekernel/forge/sealed"
)

// Machine is where a record was taken.
type Machine struct {
	Device   string `json:"device"`   // its name
	Arch     string `json:"arch"`     // "sm_90"
	Driver   string `json:"driver"`   // its version
	Compiler string `json:"compiler"` // of NVRTC: "13.0"
	Triton   string `json:"triton"`   // its version; empty for none
}

// Key names the record of a program, which is described by the shapes of its nodes. All
// parts are safe in the name of a file. Triton is no part of it: to ask for its version
// takes seconds, and is for records that pick one of its kernels.
func (m Machine) Key(shapes []string) string {
	return fmt.Sprintf("cuda-%s-%s-%s", m.Arch, short(m.Device+"\x00"+m.Driver+"\x00"+m.Compiler), short(strings.Join(shapes, "\x00")))
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Save keeps a record, in place of an older one of the same program, and returns the
// name of the file.
func Save(r *Record) (string, error) {
	raw, err := Encode(r)
	if err != nil {
		return "", err
	}
	dir, err := objects.Dir("tune")
	if err != nil {
		return "", err
	}
	return sealed.Save(dir, r.Key+".json", raw)
}

// Lookup returns the record of a program, described by the shapes of its nodes, for a
// machine; nil when there is none. One that cannot be read or is another's is an error,
// and is to be ignored.
func Lookup(m Machine, shapes []string) (*Record, error) {
	dir, err := objects.Dir("tune")
	if err != nil {
		return nil, err
	}
	key := m.Key(shapes)
	path, r := filepath.Join(dir, key+".json"), new(Record)
	err = kind.Read(path, r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = r.verify()
	}
	if err == nil && r.Key != key {
		err = fmt.Errorf("it is that of %q", r.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("the tuning record %s is ignored: %w", path, err)
	}
	return r, nil
}
