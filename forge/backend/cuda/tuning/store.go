package tuning

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/forge/backend/objects"
	"forgekernel/forge/sealed"
)

// suffix is that of the files, behind their keys.
const suffix = ".json"

// TritonPrefix begins the names of candidates that are kernels of Triton.
const TritonPrefix = "Triton, "

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
	return m.prefix() + short(strings.Join(shapes, "\x00"))
}

// prefix is what the keys of all records of a machine begin with.
func (m Machine) prefix() string {
	return fmt.Sprintf("cuda-%s-%s-", m.Arch, short(m.Device+"\x00"+m.Driver+"\x00"+m.Compiler))
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
	return sealed.Save(dir, r.Key+suffix, raw)
}

// Lookup returns the record of a program, described by the shapes of its nodes, for a
// machine; nil when there is none. One that cannot be read or is another's is an error,
// and is to be ignored.
func Lookup(m Machine, shapes []string) (*Record, error) {
	dir, err := objects.Dir("tune")
	if err != nil {
		return nil, err
	}
	r, err := read(dir, m.Key(shapes))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

func read(dir, key string) (*Record, error) {
	path, r := filepath.Join(dir, key+suffix), new(Record)
	err := kind.Read(path, r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
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

// Known is what all records of a machine have measured: of each shape of nodes what the
// latest of them says. It is nil when there is nothing. Kernels of Triton are from its
// version in the latest record. Records that cannot be read are left out, and errs says
// why.
func Known(m Machine) (known *Record, errs []error) {
	dir, err := objects.Dir("tune")
	if err != nil {
		return nil, []error{err}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, []error{err}
	}
	var list []*Record
	for _, f := range files {
		key, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok || !strings.HasPrefix(key, m.prefix()) {
			continue
		}
		r, err := read(dir, key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b *Record) int { return b.Taken.Compare(a.Taken) })
	return join(list), errs
}

// join is one record with the measured nodes of several, of which the first counts most.
func join(list []*Record) *Record {
	var all *Record
	seen := make(map[string]bool)
	for _, r := range list {
		for _, n := range r.Nodes {
			if seen[n.Shape] || n.best() == 0 || all != nil && r.Machine.Triton != all.Machine.Triton && n.byTriton() {
				continue
			}
			if all == nil {
				all = &Record{Program: "all that is known", Taken: r.Taken, Machine: r.Machine, Settings: r.Settings}
			}
			seen[n.Shape], all.Nodes = true, append(all.Nodes, n)
		}
	}
	return all
}

// byTriton reports whether the pick is a kernel of Triton.
func (n *Node) byTriton() bool { return strings.HasPrefix(n.Candidates[n.Pick()].Name, TritonPrefix) }
