package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forgekernel/forge/weights"
)

// Open opens a folder in the layout of Hugging Face, with config.json and
// safetensors, also a snapshot in the hub's cache, or a GGUF file. Weights are read
// when programs need them.
func Open(path string) (*Model, error) {
	ref, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(path, ref)
	}
	file, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	if file.Format() != "gguf" {
		file.Close()
		return nil, fmt.Errorf("%s is %s: name the folder that holds it and its config.json", path, file.Format())
	}
	return openGGUF(file, path, ref)
}

// OpenRef opens what [Model.Ref] of another process named.
func OpenRef(ref string) (*Model, error) {
	if s, ok := strings.CutPrefix(ref, seededRef); ok {
		return openSeeded(s)
	}
	return Open(ref)
}

// openCheckpoint checks weights and makes a model of them; on an error it closes
// them.
func openCheckpoint(path, ref string, c Config, s *checkpoint) (*Model, error) {
	if err := s.check(c); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newModel(c, ref, s), nil
}

// architectures are those of one kind of file, by name. T is what describes one.
type architectures[T any] []struct {
	name   string
	config func(T) (Config, error)
	naming *naming
}

// read is the configuration of a model of the named architecture.
func (list architectures[T]) read(name string, from T) (Config, *naming, error) {
	var names []string
	for _, a := range list {
		if a.name != name {
			names = append(names, a.name)
			continue
		}
		c, err := a.config(from)
		if err == nil {
			err = c.Check()
		}
		return c, a.naming, err
	}
	return Config{}, nil, fmt.Errorf("architecture %q is not supported; these are: %s", name, strings.Join(names, ", "))
}
