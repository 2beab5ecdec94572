// Package bundle packs what a host needs to run a notebook that was sent to it: the
// forge binary, the notebook, the files of a model, and a bootstrap script in Python,
// which every host can start.
//
// A bundle is one flat folder, because that is what hosts take: its files and [Manifest],
// which names them with their sizes and hashes, the parameters of the notebook, and the
// machine that the job expects. The identity of a job is the hash of its manifest. The
// script knows it, and so never runs an older bundle that the host still shows.
//
// On the host the script copies the binary out of the bundle, which is read-only and has
// lost the permission to execute, lets "forge nebula doctor" and "forge nebula preflight"
// examine the machine, and only then "forge notebook run" the notebook. What comes back
// is the executed notebook, what its cells wrote, and [Result].
package bundle

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"forgekernel/nebula/launch/doctor"
)

// Spec says what a bundle is made of.
type Spec struct {
	Notebook string            // path of an .ipynb file
	Binary   string            // path of forge for linux/amd64, which is what hosts are
	Model    string            // path of a file or a folder; empty for none
	Params   map[string]string // of the notebook; the path of the model is added as "model"
	Expect   string            // the machine, as doctor.ParseShape reads it; empty for any
}

// modelParam is the parameter of a notebook that holds the path of the model.
const modelParam = "model"

// Limits of a bundle.
const (
	maxNotebook = 64 << 20 // bytes; more are pictures that do not belong into a source
	maxFiles    = 500      // of a model
)

// plainName is a file name that no host, shell or URL changes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$`)

// part is a file of a bundle: where it is, and what it is called there.
type part struct{ path, name string }

// parts checks what the bundle is made of and lists its files.
func (s Spec) parts() ([]part, error) {
	if err := s.checkNotebook(); err != nil {
		return nil, err
	}
	if err := checkBinary(s.Binary); err != nil {
		return nil, err
	}
	if s.Expect != "" {
		if _, err := doctor.ParseShape(s.Expect); err != nil {
			return nil, err
		}
	}
	if _, taken := s.Params[modelParam]; taken && s.Model != "" {
		return nil, fmt.Errorf("the parameter %s is the path of the model on the host: it cannot be given, too", modelParam)
	}
	list := []part{{s.Binary, binaryName}, {s.Notebook, filepath.Base(s.Notebook)}}
	model, err := modelParts(s.Model)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{ManifestName: true}
	for _, p := range append(list, model...) {
		if !plainName.MatchString(p.name) {
			return nil, fmt.Errorf("%s: hosts change such names: use letters, digits, dots, dashes and underscores", p.path)
		}
		if key := strings.ToLower(p.name); names[key] {
			return nil, fmt.Errorf("%s: the bundle has another file named %s", p.path, p.name)
		} else {
			names[key] = true
		}
	}
	return append(list, model...), nil
}

func (s Spec) checkNotebook() error {
	info, err := os.Stat(s.Notebook)
	switch {
	case err != nil:
		return err
	case filepath.Ext(s.Notebook) != ".ipynb":
		return fmt.Errorf("%s is no .ipynb file", s.Notebook)
	case info.Size() > maxNotebook:
		return fmt.Errorf("%s has %d bytes, more than %d: clear its outputs", s.Notebook, info.Size(), maxNotebook)
	}
	return nil
}

// checkBinary refuses what the host could not start.
func checkBinary(path string) error {
	f, err := elf.Open(path)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format), errors.Is(err, io.EOF):
		return fmt.Errorf("%s is not a program for Linux: give the one of the release for linux/amd64 with --binary", path)
	case err != nil:
		return err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("%s is for %v: hosts are linux/amd64; give that one with --binary", path, f.Machine)
	}
	return nil
}

// modelParts are the files of a model: one file, or those of a folder. Folders in it, in
// which repositories keep other formats of the same weights, are left out.
func modelParts(path string) ([]part, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []part{{path, filepath.Base(path)}}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var list []part
	for _, e := range entries {
		full := filepath.Join(path, e.Name())
		// A checkpoint in a cache is a folder of links.
		if info, err := os.Stat(full); err != nil {
			return nil, err
		} else if info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, part{full, e.Name()})
		}
	}
	if len(list) == 0 || len(list) > maxFiles {
		return nil, fmt.Errorf("%s has %d files: a model has 1 to %d", path, len(list), maxFiles)
	}
	return list, nil
}

// Write makes the folder dir the bundle: files that it shares with the disk are links.
// What dir held before is replaced, when it was a bundle, and refused otherwise.
func (s Spec) Write(dir string) (*Manifest, error) {
	parts, err := s.parts()
	if err != nil {
		return nil, err
	}
	m := &Manifest{Schema: Schema, Notebook: filepath.Base(s.Notebook), Params: s.Params, Expect: s.Expect}
	if s.Model != "" {
		m.Model = "." // the folder of the bundle
		if info, err := os.Stat(s.Model); err == nil && !info.IsDir() {
			m.Model = filepath.Base(s.Model)
		}
	}
	if err := clean(dir); err != nil {
		return nil, err
	}
	for _, p := range parts {
		f, err := describe(p)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, f)
		if err := link(p, dir); err != nil {
			return nil, err
		}
	}
	return m, m.write(filepath.Join(dir, ManifestName))
}

// clean empties the folder of an earlier bundle, or makes it.
func clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	// A bundle is links, and what was written about them.
	foreign := func(e fs.DirEntry) bool {
		return e.Type() != fs.ModeSymlink && (!e.Type().IsRegular() || filepath.Ext(e.Name()) != ".json")
	}
	if i := slices.IndexFunc(entries, foreign); i >= 0 {
		return fmt.Errorf("%s holds %s, which is not part of a bundle: name an empty or a new folder", dir, entries[i].Name())
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// link puts a file into the folder without copying gigabytes of weights.
func link(p part, dir string) error {
	real, err := filepath.Abs(p.path)
	if err != nil {
		return err
	}
	return os.Symlink(real, filepath.Join(dir, p.name))
}

// indented is a value as JSON that a person may read.
func indented(v any) ([]byte, error) {
	raw, err := json.MarshalIndent(v, "", "  ")
	return append(raw, '\n'), err
}
