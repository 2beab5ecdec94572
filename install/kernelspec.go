// Package install puts the Forge kernel where Jupyter finds it.
//
// A kernelspec is a directory <data>/kernels/forge with a kernel.json, which
// tells a front end how to start the kernel, and logos for its launcher. The
// directory is written beside its final place and renamed, so that a front end
// never sees half of it.
//
// On the machines of notebook services ([Host]) the way is another: the kernel
// works behind a Python notebook, by the IPython extension of package magic.
//
// A release, which package release builds, is for each platform one archive
//
//	forge-VERSION-linux-amd64.tar.gz    (linux-arm64, darwin-arm64)
//	└── forge-VERSION-linux-amd64/
//	    ├── forge                       the binary
//	    ├── forge_magic.py              the IPython extension
//	    ├── kernelspec/forge/           for "jupyter kernelspec install"; starts the forge on PATH
//	    └── INSTALL.txt
//
// beside a file SHA256SUMS of all archives, in build/release.
package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Name of the kernelspec, and so of its directory.
const Name = "forge"

// specProtocol is the message protocol version promised before the kernel
// runs. A front end that reads 5.5 or later here may start the kernel with a
// registration handshake instead of a connection file, which this kernel does
// not speak; the running kernel reports 5.5 itself.
const specProtocol = "5.4"

// Spec is the content of a kernel.json.
type Spec struct {
	Argv            []string          `json:"argv"`
	DisplayName     string            `json:"display_name"`
	Language        string            `json:"language"`
	InterruptMode   string            `json:"interrupt_mode"`
	ProtocolVersion string            `json:"kernel_protocol_version"`
	Env             map[string]string `json:"env"`
	Metadata        map[string]any    `json:"metadata"`
}

// KernelSpec describes the kernel that the binary at path serves.
func KernelSpec(path string) Spec {
	return Spec{
		Argv:            []string{path, "kernel", "--connection-file", "{connection_file}"},
		DisplayName:     "Forge",
		Language:        "go",
		InterruptMode:   "message",
		ProtocolVersion: specProtocol,
		Env:             map[string]string{},
		Metadata:        map[string]any{"debugger": true},
	}
}

// Executable returns the absolute path by which the running binary was called.
// Symbolic links are kept: a kernelspec that names the link survives an
// upgrade that points it at a new version.
func Executable() (string, error) {
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		if called, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find this binary: %w", err)
		}
	}
	return filepath.Abs(called)
}

// Place chooses a Jupyter data directory.
type Place struct {
	SysPrefix bool   // the active Python environment
	Prefix    string // <Prefix>/share/jupyter; wins over SysPrefix
}

// DataDir returns the Jupyter data directory of a place; the zero Place is the
// user's own.
func (p Place) DataDir() (string, error) {
	prefix := p.Prefix
	if prefix == "" && p.SysPrefix {
		var err error
		if prefix, err = pythonPrefix(); err != nil {
			return "", err
		}
	}
	if prefix != "" {
		abs, err := filepath.Abs(prefix)
		if err != nil {
			return "", err
		}
		return filepath.Join(abs, "share", "jupyter"), nil
	}
	return userDataDir()
}

// userDataDir follows jupyter_core.paths.jupyter_data_dir.
func userDataDir() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the Jupyter data directory: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if xdg := os.Getenv("XDG_DATA_HOME"); xdg != "" {
		return filepath.Join(xdg, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// pythons are the names of Python, the likely one first.
var pythons = []string{"python3", "python"}

// pythonPrefix asks the Python on PATH, which knows about every kind of
// environment; the environment's own variable is only the fallback.
func pythonPrefix() (string, error) {
	for _, python := range pythons {
		out, err := exec.Command(python, "-c", "import sys; print(sys.prefix)").Output()
		if err == nil {
			return strings.TrimSpace(string(out)), nil
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := os.Getenv(name); dir != "" {
			return dir, nil
		}
	}
	return "", errors.New("no Python on PATH and no active environment: use --prefix DIR or --user")
}

// Install writes the kernelspec below a Jupyter data directory and returns its
// directory.
func Install(dataDir string, spec Spec) (string, error) {
	kernels := filepath.Join(dataDir, "kernels")
	if err := os.MkdirAll(kernels, 0o755); err != nil {
		return "", fmt.Errorf("install kernelspec: %w", err)
	}
	final := filepath.Join(kernels, Name)
	if err := checkOurs(final); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(kernels, "."+Name+"-")
	if err != nil {
		return "", fmt.Errorf("install kernelspec: %w", err)
	}
	defer os.RemoveAll(fresh) // gone already when the rename succeeded
	if err := writeSpec(fresh, spec); err != nil {
		return "", fmt.Errorf("install kernelspec: %w", err)
	}
	if err := os.RemoveAll(final); err != nil {
		return "", fmt.Errorf("replace kernelspec: %w", err)
	}
	if err := os.Rename(fresh, final); err != nil {
		return "", fmt.Errorf("install kernelspec: %w", err)
	}
	return final, nil
}

// Uninstall removes the kernelspec below a Jupyter data directory and returns
// the directory it was in.
func Uninstall(dataDir string) (string, error) {
	dir := filepath.Join(dataDir, "kernels", Name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no kernelspec %q in %s", Name, filepath.Dir(dir))
	}
	if err := checkOurs(dir); err != nil {
		return "", err
	}
	return dir, os.RemoveAll(dir)
}

// checkOurs refuses to touch a directory of our name that somebody else's
// kernel lives in.
func checkOurs(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(dir); errors.Is(statErr, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("%s has no kernel.json, so it is not this kernel's; remove it by hand", dir)
	}
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil || len(spec.Argv) < 2 || spec.Argv[1] != "kernel" {
		return fmt.Errorf("%s belongs to another kernel; remove it by hand", dir)
	}
	return nil
}

func writeSpec(dir string, spec Spec) error {
	// MkdirTemp makes the directory private; other users run system installs.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	files, err := spec.Files()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Files are the files of the kernelspec by name.
func (s Spec) Files() (map[string][]byte, error) {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"kernel.json": append(raw, '\n'), "logo-svg.svg": logoSVG()}
	for _, size := range []int{32, 64} {
		png, err := logoPNG(size)
		if err != nil {
			return nil, err
		}
		files[fmt.Sprintf("logo-%dx%d.png", size, size)] = png
	}
	return files, nil
}
