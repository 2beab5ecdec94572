package install

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallThenUninstall(t *testing.T) {
	data := t.TempDir()
	for range 2 { // a second installation replaces the first
		dir, err := Install(data, KernelSpec("/opt/forge"))
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(data, "kernels", "forge"); dir != want {
			t.Fatalf("installed in %s, want %s", dir, want)
		}
	}
	dir := filepath.Join(data, "kernels", Name)
	raw, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(spec.Argv, " "); got != "/opt/forge kernel --connection-file {connection_file}" {
		t.Errorf("argv: %s", got)
	}
	if spec.InterruptMode != "message" || spec.Language != "go" {
		t.Errorf("spec: %+v", spec)
	}
	for name, size := range map[string]int{"logo-32x32.png": 32, "logo-64x64.png": 64} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.DecodeConfig(bytes.NewReader(raw))
		if err != nil || img.Width != size {
			t.Errorf("%s: %v, %v", name, img, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(data, "kernels", ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary directories left: %v %v", left, err)
	}
	if _, err := Uninstall(data); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("still there after Uninstall: %v", err)
	}
	if _, err := Uninstall(data); err == nil || !strings.Contains(err.Error(), "no kernelspec") {
		t.Errorf("second Uninstall: %v", err)
	}
}

func TestForeignSpecIsLeftAlone(t *testing.T) {
	for name, content := range map[string]string{
		"another kernel": `{"argv":["python","-m","other"]}`,
		"broken":         `{`,
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			dir := filepath.Join(data, "kernels", Name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "kernel.json")
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Install(data, KernelSpec("/opt/forge")); err == nil {
				t.Error("Install replaced a foreign kernelspec")
			}
			if _, err := Uninstall(data); err == nil {
				t.Error("Uninstall removed a foreign kernelspec")
			}
			if got, _ := os.ReadFile(file); string(got) != content {
				t.Errorf("kernel.json now %q", got)
			}
		})
	}
}

func TestDataDir(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("JUPYTER_DATA_DIR", "/data/jupyter")
	check := func(p Place, want string) {
		t.Helper()
		got, err := p.DataDir()
		if err != nil || got != want {
			t.Errorf("%+v: %q, %v; want %q", p, got, err, want)
		}
	}
	check(Place{}, "/data/jupyter")
	check(Place{Prefix: "/opt/env"}, "/opt/env/share/jupyter")
	t.Setenv("PATH", "")
	t.Setenv("VIRTUAL_ENV", "/venv")
	check(Place{SysPrefix: true}, "/venv/share/jupyter")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	if _, err := (Place{SysPrefix: true}).DataDir(); err == nil {
		t.Error("no Python and no environment, yet no error")
	}
}

func TestLogoIsWellFormed(t *testing.T) {
	if err := xml.Unmarshal(logoSVG(), new(struct{})); err != nil {
		t.Error(err)
	}
}
