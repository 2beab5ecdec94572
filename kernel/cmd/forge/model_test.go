package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/importer"
	"forgekernel/forge/tensor"
)

// inModels is a folder with glyphs.onnx, mlp.pt2, unknown.onnx and layer.fs.
func inModels(t *testing.T) {
	t.Helper()
	glyphs, err := os.ReadFile("../../../notebooks/models/glyphs.onnx")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("../../../forge/pt2/testdata/mlp.pt2.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	mlp, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{
		"glyphs.onnx": string(glyphs), "mlp.pt2": string(mlp), "layer.fs": "def layer(x, w):\n    return x @ w\n",
		"renamed": strings.Repeat("\x00", 1<<16+1),
		// Names of the same length keep the file well formed.
		"unknown.onnx": strings.NewReplacer("\"\x04Relu", "\"\x04Rilu", "\"\x07Softmax", "\"\x07Softmix").Replace(string(glyphs)),
	})
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
}

// message is what a command line that fails prints, and its exit status.
func message(t *testing.T, line string) (string, int) {
	t.Helper()
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(io.Discard)
	cmd.SetErr(&out)
	cmd.SetArgs(strings.Fields(line))
	ran, err := cmd.ExecuteContextC(t.Context())
	status := report(&out, ran, err)
	return out.String(), status
}

func TestModelMessages(t *testing.T) {
	inModels(t)
	const usage = "\nRun 'forge COMMAND --help' for usage.\n"
	for _, c := range []struct {
		line, want string
		status     int
	}{
		{"run glyphs.onnx", "error: glyphs.onnx: input images: f32[batch,1,8,8]: dimension 0, batch, is open: bind it or give the shape\nhint: bind it, as with --dim batch=1, or give the inputs with --inputs FILE.npz\n", exitFailure},
		{"compile glyphs.onnx --dim batch=2", "error: glyphs.onnx: TopK \"best\": \"k\", the k of TopK \"best\", must be known when the program is compiled: give a value for input \"k\"\nhint: give it with --value k=N\n", exitFailure},
		{"explain glyphs.onnx --dim n=2 --value k=1", "error: glyphs.onnx: there is no open dimension \"n\"; there are batch\n", exitFailure},
		{"run glyphs.onnx --dim batch", "forge: --dim: \"batch\" is not NAME=LENGTH, such as batch=4" + usage, exitUsage},
		{"run glyphs.onnx --dim batch=0", "forge: --dim: batch has the length 0; it must be at least 1" + usage, exitUsage},
		{"run glyphs.onnx --dim batch=2 --dim batch=3", "forge: --dim: batch has two lengths" + usage, exitUsage},
		{"check glyphs.onnx --shapes 2x1x8x8", "forge: --shapes: there are 2 inputs, images, k; got 1 shapes" + usage, exitUsage},
		{"run glyphs.onnx --shapes image=2x1x8x8", "forge: --shapes: there is no input \"image\"; there are images, k" + usage, exitUsage},
		{"run glyphs.onnx --shapes images=2x3x8x8 --value k=1", "error: glyphs.onnx: input images: f32[batch,1,8,8]: dimension 1 is 1 in the file; the shape given has 3\n", exitFailure},
		{"run glyphs.onnx --dim batch=2 --value k=1.5", "forge: --value: k: 1.5 is not a value of i64" + usage, exitUsage},
		{"run glyphs.onnx --dim batch=2 --value k=1 --value k=2", "forge: --value: k has a value already" + usage, exitUsage},
		{"run glyphs.onnx --value images=1", "forge: --value: images: f32[batch,1,8,8] is not a list of numbers: put it into an archive for --inputs" + usage, exitUsage},
		{"run glyphs.onnx --entry main", "forge: --entry is for ForgeScript; glyphs.onnx is one program" + usage, exitUsage},
		{"run layer.fs --dim batch=2", "forge: --dim and --value are for imported models; layer.fs is ForgeScript, which takes --shapes" + usage, exitUsage},
		{"run layer.fs --shapes x=2x3", "forge: --shapes: w has none; give one for each of x, w" + usage, exitUsage},
		{"tune glyphs.onnx", "error: glyphs.onnx: input images: f32[batch,1,8,8]: dimension 0, batch, is open: bind it or give the shape\nhint: bind it, as with --dim batch=1\n", exitFailure},
		{"wgsl glyphs.onnx", "error: glyphs.onnx: input images: f32[batch,1,8,8]: dimension 0, batch, is open: bind it or give the shape\nhint: bind it, as with --dim batch=1\n", exitFailure},
		{"run glyphs.onnx --dim batch=2", "error: glyphs.onnx: TopK \"best\": \"k\", the k of TopK \"best\", must be known when the program is compiled: give a value for input \"k\"\nhint: give it with --value k=N or in --inputs FILE.npz\n", exitFailure},
		{"run mlp.pt2", "error: mlp.pt2: input x: f32[s77,4]: dimension 0, s77, is open: bind it or give the shape\nhint: bind it, as with --dim s77=1, or give the inputs with --inputs FILE.npz\n", exitFailure},
		{"run unknown.onnx --dim batch=2 --value k=1", "error: unknown.onnx: 3 nodes are not supported:\n", exitFailure},
		{"run renamed", "forge: renamed: the file is too large: it has 65537 bytes, and at most 65536 are read (a model file is named .onnx or .pt2)\n", exitFailure},
		{"run /dev/zero", "forge: /dev/zero: the file is too large: it has more than the 65536 bytes that are read (a model file is named .onnx or .pt2)\n", exitFailure},
		{"run pipe", "forge: pipe: it is a pipe that nobody writes to\n", exitFailure},
		{"run none.onnx", "forge: none.onnx: no such file or directory\n", exitFailure},
		{"bench --suite mlp --dim batch=2", "forge: --iters, --inputs, --shapes, --dim, --value and --entry are for a FILE; a suite has --repeats" + usage, exitUsage},
	} {
		got, status := message(t, c.line)
		c.want = strings.Replace(c.want, "COMMAND", strings.Fields(c.line)[0], 1)
		if !strings.HasPrefix(got, c.want) || status != c.status {
			t.Errorf("forge %s prints, with status %d,\n%s\nwant, with %d,\n%s", c.line, status, got, c.status, c.want)
		}
	}
	got, _ := message(t, "run unknown.onnx --dim batch=2 --value k=1")
	for _, want := range []string{`"strokes"`, `"seen"`, `"probabilities"`, "Rilu", "Softmix", "21"} {
		if !strings.Contains(got, want) {
			t.Errorf("the message does not name %s:\n%s", want, got)
		}
	}
}

// The hint is a part of a command line, which must do what it says.
func TestHintOfSeveralShapes(t *testing.T) {
	in := func(name string) importer.Input {
		return importer.Input{Name: name, Dims: []importer.Dim{{}, {Size: 3}}, Ranked: true}
	}
	open := &importer.OpenError{Open: []importer.Open{{Input: in("x"), Dim: 0}, {Input: in("y"), Dim: 0}}}
	if got, want := exampleFlags(open), "--shapes x=1x3,y=1x3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every command that compiles takes models.
func TestModelCommands(t *testing.T) {
	inModels(t)
	const bound = " --dim batch=2 --value k=3"
	for line, want := range map[string]string{
		"compile glyphs.onnx --show summary": "result classes",
		"compile glyphs.onnx --show source":  "top_k",
		"run glyphs.onnx":                    "classes = i64[2,3]",
		"check glyphs.onnx":                  "units in the last place",
		"explain glyphs.onnx":                "input k is a part of the program, with the value [3]",
		"dump glyphs.onnx --after trace":     "top_k",
		"bench glyphs.onnx --iters 1 --backend interp --variant optimised": "interp optimised",
	} {
		if out := succeed(t, line+bound); !strings.Contains(out, want) {
			t.Errorf("forge %s%s: %q is missing in\n%s", line, bound, want, out)
		}
	}
	if out := succeed(t, "run layer.fs --shapes w=3x4,x=2x3"); !strings.HasPrefix(out, "f32[2,4]") {
		t.Errorf("shapes by name gave %s", out)
	}
	if out := succeed(t, "run layer.fs --shapes w=3x4 --shapes x=2x3"); !strings.HasPrefix(out, "f32[2,4]") {
		t.Errorf("shapes given one by one gave %s", out)
	}
	if out := succeed(t, "run mlp.pt2 --dim s77=3"); !strings.Contains(out, " = f32[3,2,2]") {
		t.Errorf("the program of PyTorch gave %s", out)
	}
}

// What a run reads and writes are archives by the names of the file.
func TestModelArchives(t *testing.T) {
	inModels(t)
	images, err := tensor.Rand(1, 2, 1, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	k, err := tensor.From([]int{1}, []int32{2})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create("in.npz")
	if err != nil {
		t.Fatal(err)
	}
	if err := tensor.WriteNPZ(f, []tensor.Named{{Name: "k", Tensor: k}, {Name: "images", Tensor: images}}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var report forge.Report
	if err := json.Unmarshal([]byte(succeed(t, "run glyphs.onnx --inputs in.npz --outputs out.npz --json")), &report); err != nil {
		t.Fatal(err)
	}
	arrays, err := forge.ReadNPZ("out.npz")
	if err != nil {
		t.Fatal(err)
	}
	if len(arrays) != 2 || !tensor.ShapeEqual(arrays["best"].Shape(), []int{2, 2}) || arrays["classes"].DType() != tensor.I64 {
		t.Fatalf("arrays %v", arrays)
	}
	if got, want := float32(arrays["best"].At(1, 1)), float32(report.Run.Results[0].Values[3]); got != want {
		t.Errorf("the archive has %v, the report %v", got, want)
	}
	if len(report.Inputs) != 1 || report.Inputs[0].Name != "images" || report.Outputs[1].Name != "classes" || len(report.Notes) == 0 {
		t.Errorf("report of %v to %v with notes %q", report.Inputs, report.Outputs, report.Notes)
	}
	if left, _ := filepath.Glob(".new-*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if got, status := message(t, "run glyphs.onnx --inputs in.npz --outputs no/such/out.npz"); status != exitFailure || !strings.Contains(got, "--outputs: cannot write no/such/out.npz") {
		t.Errorf("status %d, %s", status, got)
	}
	if got, status := message(t, "run mlp.pt2 --inputs in.npz"); status != exitFailure || !strings.Contains(got, "there is no input") {
		t.Errorf("status %d, %s", status, got)
	}
}
