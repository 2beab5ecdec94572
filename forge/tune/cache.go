package tune

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/objects"
	"forgekernel/forge/capture"
	"forgekernel/forge/sealed"
)

// Machine is where a record was taken.
type Machine struct {
	Processor string `json:"processor"`
	Target    string `json:"target"`   // of the backend: "avx512"
	Threads   int    `json:"threads"`  // that may share a kernel
	Compiler  string `json:"compiler"` // the first line of its version
	Load      string `json:"load"`     // average over a minute, when tuning began
	// CompilerHash is the beginning of the SHA-256 of all that it says of its version.
	CompilerHash string `json:"compiler_hash"`
}

// thisMachine describes the one that the program runs on.
func thisMachine(ctx context.Context, b *cpu.Backend) (Machine, error) {
	version, err := cpu.CompilerVersion(ctx)
	if err != nil {
		return Machine{}, err
	}
	first, _, _ := strings.Cut(version, "\n")
	return Machine{
		Processor: capture.Processor(), Target: b.Target.Name, Threads: b.Threads, Compiler: first,
		CompilerHash: hash(version)[:8], Load: capture.Load(),
	}, nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// key names the record of a program, which is described by the shapes of its
// kernels. All parts are safe in the name of a file.
func (m Machine) key(program []string) string {
	return keyPrefix(m.Processor, m.Target, m.Threads, program) + slug(m.Compiler) + "-" + m.CompilerHash
}

// keyPrefix is the key without the compiler. The hardware is the processor, its
// vectors and the number of threads.
func keyPrefix(processor, target string, threads int, program []string) string {
	return fmt.Sprintf("cpu-%s-%s-x%d-%s-", slug(cmp.Or(processor, "unknown")), target, threads, hash(strings.Join(program, "\n"))[:16])
}

// maxSlug bounds a part of a key.
const maxSlug = 40

// slug writes text in small letters, digits and single hyphens.
func slug(text string) string {
	parts := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.')
	})
	s := strings.Join(parts, "-")
	return strings.Trim(s[:min(maxSlug, len(s))], "-.")
}

// directory is where records are kept.
func directory() (string, error) { return objects.Dir("tune") }

// Save keeps a record, in place of an older one of the same program, and returns
// the name of the file.
func Save(r *Record) (string, error) {
	raw, err := Encode(r)
	if err != nil {
		return "", err
	}
	dir, err := directory()
	if err != nil {
		return "", err
	}
	return sealed.Save(dir, r.Key+".json", raw)
}

// Lookup returns the record of a program, described by the shapes of its kernels,
// for this machine; nil when there is none. One that cannot be read or is another's
// is an error, and is to be ignored.
func Lookup(ctx context.Context, b *cpu.Backend, program []string) (*Record, error) {
	dir, err := directory()
	if err != nil {
		return nil, err
	}
	// Asking the compiler for its version takes longer than looking.
	prefix := keyPrefix(capture.Processor(), b.Target.Name, b.Threads, program)
	if found, _ := filepath.Glob(filepath.Join(dir, prefix+"*.json")); len(found) == 0 {
		return nil, nil
	}
	m, err := thisMachine(ctx, b)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, m.key(program)+".json")
	r, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = r.fits(m.key(program), b.Target, program)
	}
	if err != nil {
		return nil, fmt.Errorf("the tuning record %s is ignored: %w", path, err)
	}
	return r, nil
}

func read(path string) (*Record, error) {
	r := new(Record)
	if err := kind.Read(path, r); err != nil {
		return nil, err
	}
	return r, r.verify()
}

// fits reports why the record is not one of the program on this machine.
func (r *Record) fits(key string, t cpu.Target, program []string) error {
	if r.Key != key {
		return fmt.Errorf("it is that of %q", r.Key)
	}
	shapes := make(map[string]bool)
	for _, s := range program {
		shapes[s] = true
	}
	for shape, s := range r.chosen() {
		if !shapes[shape] {
			return fmt.Errorf("the program has no kernel %q", shape)
		}
		if err := t.Check(s); err != nil {
			return err
		}
	}
	return nil
}
