package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePython is a python3 on PATH, the only program there, that says where modules go.
func fakePython(t *testing.T, says string) {
	t.Helper()
	bin := t.TempDir()
	if says != "" {
		if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\necho "+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

func onHost(t *testing.T, variable string) {
	t.Helper()
	for _, h := range hosts {
		t.Setenv(h.variable, "")
	}
	if variable != "" {
		t.Setenv(variable, "yes")
	}
}

func TestHostNamed(t *testing.T) {
	for _, c := range []struct{ name, variable, want string }{
		{"colab", "COLAB_RELEASE_TAG", ""},
		{"kaggle", "KAGGLE_KERNEL_RUN_TYPE", ""},
		{"colab", "", "not a machine of Google Colab: COLAB_RELEASE_TAG is not set"},
		{"kaggle", "COLAB_RELEASE_TAG", "not a machine of Kaggle: KAGGLE_KERNEL_RUN_TYPE is not set"},
		{"binder", "COLAB_RELEASE_TAG", `no host "binder"; there are colab and kaggle`},
	} {
		onHost(t, c.variable)
		h, err := HostNamed(c.name)
		if c.want == "" && (err != nil || h.Name != c.name) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %q: %+v, %v", c.name, c.variable, h, err)
		}
	}
}

func TestInstallOnColab(t *testing.T) {
	prefix, modules := t.TempDir(), filepath.Join(t.TempDir(), "dist-packages")
	fakePython(t, modules)
	onHost(t, "COLAB_RELEASE_TAG")
	h, err := HostNamed("colab")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // run again, it replaces everything
		done, err := h.Install(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(done.Binary); err != nil || info.Mode() != 0o755 || done.Binary != filepath.Join(prefix, "bin", "forge") {
			t.Errorf("%s: %v, %v", done.Binary, info, err)
		}
		raw, err := os.ReadFile(filepath.Join(prefix, "share", "jupyter", "kernels", "forge", "kernel.json"))
		if err != nil {
			t.Fatal(err)
		}
		var spec Spec
		if err := json.Unmarshal(raw, &spec); err != nil {
			t.Fatal(err)
		}
		if preload, set := spec.Env["LD_PRELOAD"]; !set || preload != "" || spec.Argv[0] != done.Binary {
			t.Errorf("%+v", spec)
		}
		module, err := os.ReadFile(filepath.Join(modules, "forge_magic.py"))
		if err != nil || !done.Importable || !strings.Contains(string(module), `INSTALLED = "`+done.Binary+`"`) {
			t.Errorf("%+v: %v", done, err)
		}
		var b strings.Builder
		done.Explain(&b)
		for _, want := range []string{done.Binary, done.Kernelspec, done.Extension, "%load_ext forge_magic", "Change runtime type"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the explanation lacks %q:\n%s", want, b.String())
			}
		}
	}
}

func TestInstallWithoutPython(t *testing.T) {
	prefix := t.TempDir()
	fakePython(t, "")
	onHost(t, "KAGGLE_KERNEL_RUN_TYPE")
	h, err := HostNamed("kaggle")
	if err != nil {
		t.Fatal(err)
	}
	done, err := h.Install(prefix)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(prefix, "share", "forge")
	if _, err := os.Stat(filepath.Join(folder, "forge_magic.py")); err != nil || done.Importable || done.Kernelspec != "" {
		t.Errorf("%+v: %v", done, err)
	}
	var b strings.Builder
	done.Explain(&b)
	if text := b.String(); !strings.Contains(text, `sys.path.insert(0, "`+folder+`")`) || strings.Contains(text, "Change runtime type") {
		t.Error(text)
	}
}
