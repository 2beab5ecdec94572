package bundle

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// spec is a bundle of small files: the binary is a header.
func spec(t *testing.T) (Spec, string) {
	t.Helper()
	dir := t.TempDir()
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[18], header[20], header[52] = 2, 62, 1, 64 // executable, x86-64, version 1
	for name, text := range map[string]string{
		"a.ipynb": "{}", "tool": string(header), "m/config.json": "{}", "m/model.safetensors": "123", "m/.cache": "x", "m/onnx/model.onnx": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Spec{Notebook: filepath.Join(dir, "a.ipynb"), Binary: filepath.Join(dir, "tool")}, dir
}

func TestWrite(t *testing.T) {
	s, dir := spec(t)
	s.Model, s.Params, s.Expect = filepath.Join(dir, "m"), map[string]string{"tp": "2"}, "2xT4"
	to := filepath.Join(dir, "sent", "dataset")
	m, err := s.Write(to)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
		if got, err := os.ReadFile(filepath.Join(to, f.Name)); err != nil || int64(len(got)) != f.Size {
			t.Errorf("%s: %d bytes, %v; want %d", f.Name, len(got), err, f.Size)
		}
	}
	if got := strings.Join(names, " "); got != "forge a.ipynb config.json model.safetensors" || m.Model != "." {
		t.Errorf("files %s, model %s", got, m.Model)
	}
	raw, err := os.ReadFile(filepath.Join(to, ManifestName))
	var read Manifest
	if err != nil || json.Unmarshal(raw, &read) != nil || read.Params["tp"] != "2" || len(m.ID()) != 64 {
		t.Errorf("%s, %v, ID %q", raw, err, m.ID())
	}

	// A changed weight is another job, in the same folder, in which nothing else remains.
	before := m.ID()
	if err := os.WriteFile(filepath.Join(dir, "m", "model.safetensors"), []byte("124"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err = s.Write(to); err != nil || m.ID() == before {
		t.Errorf("%v, ID %s", err, m.ID())
	}
	s.Model = filepath.Join(dir, "m", "model.safetensors")
	if m, err = s.Write(to); err != nil || m.Model != "model.safetensors" {
		t.Fatalf("%v, %+v", err, m)
	}
	if entries, _ := os.ReadDir(to); len(entries) != 4 {
		t.Errorf("%v", entries)
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *Spec, dir string)
		want   string
	}{
		"a folder of others": {func(s *Spec, dir string) {}, "holds a.ipynb, which is not part of a bundle"},
		"a script":           {func(s *Spec, dir string) { s.Binary = s.Notebook }, "is not a program for Linux"},
		"no notebook":        {func(s *Spec, dir string) { s.Notebook = s.Binary }, "is no .ipynb file"},
		"two of a name": {func(s *Spec, dir string) {
			os.Rename(s.Notebook, filepath.Join(dir, "Forge-job.json.ipynb"))
			s.Notebook, s.Model = filepath.Join(dir, "Forge-job.json.ipynb"), filepath.Join(dir, "FORGE")
			os.WriteFile(s.Model, nil, 0o644)
		}, "has another file named FORGE"},
		"a name that changes": {func(s *Spec, dir string) { s.Model = filepath.Join(dir, "a b"); os.WriteFile(s.Model, nil, 0o644) }, "hosts change such names"},
		"an empty model":      {func(s *Spec, dir string) { s.Model = t.TempDir() }, "has 0 files"},
		"a model twice":       {func(s *Spec, dir string) { s.Model, s.Params = s.Binary, map[string]string{"model": "x"} }, "cannot be given, too"},
		"no machine":          {func(s *Spec, dir string) { s.Expect = "T4x2" }, "is not a machine"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := spec(t)
			c.change(&s, dir)
			if _, err := s.Write(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	s, dir := spec(t)
	raw, _ := os.ReadFile(s.Binary)
	raw[18] = 183 // ARM
	os.WriteFile(s.Binary, raw, 0o644)
	if _, err := s.Write(filepath.Join(dir, "new")); err == nil || !strings.Contains(err.Error(), "is for EM_AARCH64") {
		t.Errorf("%v", err)
	}
}

// The script is Python, whatever the names of folders.
func TestScript(t *testing.T) {
	m := &Manifest{id: "abc"}
	script, err := m.Script(Place{Input: `/in "put" \ö`, Output: t.TempDir(), Exit: true})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-")
	cmd.Stdin = strings.NewReader(string(script))
	out, err := cmd.CombinedOutput()
	if want := "forge job: failed: no bundle below /in \"put\" \\ö: the dataset of the job was not attached\n"; err == nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

func TestReadResult(t *testing.T) {
	const good = `{"schema": 1, "job": "j", "stage": "notebook", "error": "why", "seconds": 1.5}`
	for text, want := range map[string]string{
		good: "",
		`{"schema": 1, "job": "k", "stage": "done", "error": "", "seconds": 1}`: "it is the result of another job",
		`{"schema": 2, "job": "j", "stage": "done", "error": ""}`:               "has schema 2; this forge reads 1",
		`{"schema": 1, "job": "j", "stage": "done", "error": "why"}`:            "is not the result of a job",
		`{"schema": 1, "job": "j", "stage": "lunch", "error": "why"}`:           "is not the result of a job",
		`{"schema": 1`:                   "is not the result of a job",
		strings.Repeat(" ", maxResult+1): "is not the result of a job",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ResultName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := ReadResult(dir, "j")
		if want == "" {
			if err != nil || r.Failure() == nil || r.Failure().Error() != "why" {
				t.Errorf("%+v, %v", r, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; want %q", text, err, want)
		}
	}
	if _, err := ReadResult(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "gave back no forge-result.json") {
		t.Errorf("%v", err)
	}
}

func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "job": "j", "stage": "done", "error": ""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ResultName), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadResult(dir, ""); err == nil && (r.Stage == "done") != (r.Failure() == nil) {
			t.Errorf("%+v", r)
		}
	})
}
