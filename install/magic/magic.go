// Package magic carries forge_magic, the IPython extension by which cells of a Python
// notebook run in the Go kernel. Its text is kept beside this file and explains itself.
package magic

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Module is the name that %load_ext takes.
const Module = "forge_magic"

//go:embed forge_magic.py
var source string

const unset = "INSTALLED = \"\"  #"

// Source is the text of the module, which starts the given binary; an empty path leaves
// the search to the module: beside itself, then on PATH.
func Source(binary string) string {
	quoted, _ := json.Marshal(binary) // of a string: no error, and Python reads it as JSON does
	return strings.Replace(source, unset, "INSTALLED = "+string(quoted)+"  #", 1)
}

// Write puts the module into a folder, which is made if need be, and returns its path.
func Write(folder, binary string) (string, error) {
	path := filepath.Join(folder, Module+".py")
	if err := write(path, Source(binary)); err != nil {
		return "", fmt.Errorf("write the extension: %w", err)
	}
	return path, nil
}

// write goes through a sibling, so that Python never imports half a module.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+Module+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when the rename succeeded
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
