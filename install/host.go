package install

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"forgekernel/install/magic"
)

// Host is a service that runs notebooks of Python on machines of its own, which vanish
// afterwards. There the Go kernel works behind a Python notebook, by way of the IPython
// extension.
type Host struct {
	Name     string // as --host takes it
	Title    string
	variable string // set on its machines
	// kernels says that a person can choose an installed kernel. It is handed no
	// preloaded library, which the host means for its Python.
	kernels bool
}

var hosts = []Host{
	{Name: "colab", Title: "Google Colab", variable: "COLAB_RELEASE_TAG", kernels: true},
	{Name: "kaggle", Title: "Kaggle", variable: "KAGGLE_KERNEL_RUN_TYPE"},
}

// HostNamed is the host of a name. It is an error if this machine is none of its.
func HostNamed(name string) (Host, error) {
	var names []string
	for _, h := range hosts {
		if h.Name != name {
			names = append(names, h.Name)
		} else if os.Getenv(h.variable) == "" {
			return h, fmt.Errorf("this is not a machine of %s: %s is not set; forge install without --host is for any Jupyter", h.Title, h.variable)
		} else {
			return h, nil
		}
	}
	return Host{}, fmt.Errorf("no host %q; there are %s", name, strings.Join(names, " and "))
}

// HostInstallation is what was written on a host.
type HostInstallation struct {
	Host
	Binary     string
	Kernelspec string // its folder; empty where no kernel can be chosen
	Extension  string
	Importable bool // Python finds the extension by its name
}

// Install copies the running binary below a prefix and writes what points at it: the
// extension, into the folder where the Python on PATH looks for modules or else below the
// prefix, and the kernelspec where that is of use. Run again it replaces all of it.
func (h Host) Install(prefix string) (*HostInstallation, error) {
	prefix, err := filepath.Abs(prefix)
	if err != nil {
		return nil, err
	}
	done := &HostInstallation{Host: h, Binary: filepath.Join(prefix, "bin", "forge")}
	if err := copyBinary(done.Binary); err != nil {
		return nil, fmt.Errorf("copy the binary: %w", err)
	}
	if h.kernels {
		spec := KernelSpec(done.Binary)
		spec.Env["LD_PRELOAD"] = ""
		if done.Kernelspec, err = Install(filepath.Join(prefix, "share", "jupyter"), spec); err != nil {
			return nil, err
		}
	}
	folder, err := pythonModules()
	if done.Importable = err == nil; !done.Importable {
		folder = filepath.Join(prefix, "share", "forge")
	}
	done.Extension, err = magic.Write(folder, done.Binary)
	return done, err
}

// pythonModules asks the Python on PATH where modules are installed.
func pythonModules() (string, error) {
	for _, python := range pythons {
		out, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").Output()
		if folder := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(folder) {
			return folder, nil
		}
	}
	return "", errors.New("no Python on PATH")
}

// copyBinary puts the running binary at a path, unless it is there.
func copyBinary(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	if here, err := from.Stat(); err != nil {
		return err
	} else if there, err := os.Stat(path); err == nil && os.SameFile(here, there) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.CreateTemp(filepath.Dir(path), ".forge-")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) // gone already when the rename succeeded
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), path)
}

// Explain says what was done and what comes next.
func (i *HostInstallation) Explain(w io.Writer) {
	fmt.Fprintf(w, "This is a machine of %s. The binary is %s\n", i.Title, i.Binary)
	if i.Kernelspec != "" {
		fmt.Fprintf(w, "Installed kernelspec %s in %s\n", Name, i.Kernelspec)
	}
	fmt.Fprintf(w, "Wrote the IPython extension %s\n\nNext, in a cell of this notebook:\n", i.Extension)
	if !i.Importable {
		fmt.Fprintf(w, "    import sys; sys.path.insert(0, %q)\n", filepath.Dir(i.Extension))
	}
	fmt.Fprintf(w, "    %%load_ext %s\nThen cells that begin with %%%%forge or %%%%go run in the Go kernel.\n\n", magic.Module)
	if i.kernels {
		fmt.Fprintf(w, "%s also offers Forge as a runtime of its own: restart the session, then choose Forge under\n"+
			"Runtime > Change runtime type. It documents no such kernels, so this may end without notice.\n", i.Title)
	} else {
		fmt.Fprintf(w, "%s starts kernels of its own only, so Forge works behind this notebook's Python.\n", i.Title)
	}
	fmt.Fprintln(w, "All of it is gone with the machine: run this again on a new one.")
}
