package benchmarks

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/capture/child"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// fakeMode makes this test binary a peer that computes relu, and goes wrong in the
// way that the variable names.
const fakeMode = "FORGE_FAKE_PEER"

func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(fakeMode); ok {
		fakePeer(mode)
		return
	}
	os.Exit(m.Run())
}

func fakePeer(mode string) {
	in := bufio.NewScanner(os.Stdin)
	arrays := ""
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if r.Arrays != "" {
			arrays = r.Arrays
		}
		if reply := fakeReply(mode, &r, arrays); reply != "" {
			fmt.Println(reply)
		}
	}
}

// fakeReply is what the fake answers, or it does not return.
func fakeReply(mode string, r *request, arrays string) string {
	what, when, _ := strings.Cut(mode, " ")
	if when == r.Do {
		switch what {
		case "crash":
			fmt.Fprintln(os.Stderr, "Traceback:\nsegmentation fault")
			os.Exit(3)
		case "hang":
			time.Sleep(time.Hour)
		case "garbage":
			return "Loading libraries…"
		case "long":
			return strings.Repeat("x", child.MaxLine+1)
		case "id":
			r.ID += 7
		case "twice":
			fmt.Printf("{\"id\":%d,\"ok\":{}}\n{\"id\":%d,\"ok\":{}}\n", r.ID, r.ID)
			return ""
		case "silent":
			return fmt.Sprintf(`{"id":%d}`, r.ID)
		case "field":
			return fmt.Sprintf(`{"id":%d,"ok":{"more":1}}`, r.ID)
		case "error":
			return fmt.Sprintf(`{"id":%d,"error":"Unsupported: relu is not written"}`, r.ID)
		}
	}
	ok := map[string]any{}
	switch r.Do {
	case "hello":
		ok["versions"] = map[string]string{"fake": "1.0"}
	case "prepare":
		ok["cost_ns"], ok["cache"] = 5_000_000, "miss"
		switch mode {
		case "cache":
			ok["cache"] = "warm"
		case "cost":
			ok["cost_ns"] = -1
		case "file":
			if err := fakeFile(r); err != nil {
				return fmt.Sprintf(`{"id":%d,"error":%q}`, r.ID, err)
			}
		}
	case "run":
		if err := fakeResults(mode, arrays, r.Results); err != nil {
			return fmt.Sprintf(`{"id":%d,"error":%q}`, r.ID, err)
		}
	case "time":
		ok["wall_ns"], ok["cpu_ns"] = 100*r.Runs, 50*r.Runs
		switch mode {
		case "no time":
			ok["wall_ns"] = 0
		case "endless":
			ok["wall_ns"] = int64(math.MaxInt64)
		case "negative time":
			ok["cpu_ns"] = -1
		}
	}
	if r.Do == "device" {
		ok["device_ns"] = map[bool]int64{true: 70, false: 0}[mode != "no device time"]
		if mode == "endless device time" {
			ok["device_ns"] = int64(math.MaxInt64)
		}
	}
	raw, _ := json.Marshal(map[string]any{"id": r.ID, "ok": ok})
	return string(raw)
}

// fakeFile checks that a program comes with its file and with all that the file takes.
func fakeFile(r *request) error {
	m := r.Model
	if m == nil || !filepath.IsAbs(m.Path) || filepath.Base(m.Path) != "relu.onnx" || !slices.Equal(m.Inputs, []string{"x:0", "k"}) || !slices.Equal(m.Outputs, []string{"y:0"}) {
		return fmt.Errorf("the file is %+v", m)
	}
	raw, err := os.ReadFile(r.Arrays)
	if err != nil {
		return err
	}
	named, err := tensor.ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return err
	}
	var names []string
	for _, n := range named {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"i0", "m0", "m1"}) || named[2].Tensor.Item() != 7 {
		return fmt.Errorf("the arrays are %v", names)
	}
	return nil
}

// fakeResults computes relu of the input and spoils it.
func fakeResults(mode, arrays, path string) error {
	in, err := os.Open(arrays)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	named, err := tensor.ReadNPZ(in, info.Size())
	if err != nil {
		return err
	}
	y := named[0].Tensor
	for i := range y.Len() {
		y.SetElem(i, max(y.Elem(i), 0))
	}
	out := []tensor.Named{{Name: "o0", Tensor: y}}
	switch mode {
	case "no results":
		return nil
	case "no archive":
		return os.WriteFile(path, []byte("PK"), 0o600)
	case "folder":
		return os.Mkdir(path, 0o700)
	case "two results":
		out = append(out, tensor.Named{Name: "o1", Tensor: y})
	case "name":
		out[0].Name = "y"
	case "shape":
		out[0].Tensor = y.Reshape(4, 2)
	case "dtype":
		if out[0].Tensor, err = y.Convert(tensor.F64); err != nil {
			return err
		}
	case "nan":
		y.SetElem(3, math.NaN())
	case "off":
		y.SetElem(3, y.Elem(3)+0.01)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(tensor.WriteNPZ(f, out), f.Close())
}

func relu(t *testing.T) *capture.Subject {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[2,4]) {\n  %y: f32[2,4] = relu %x\n  return %y\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	s, err := capture.NewSubject("relu", g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fake is a peer that runs this binary.
func fake(t *testing.T, mode string, patience time.Duration) *peer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeMode, mode)
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	p := &peer{label: capture.Label{Backend: "fake", Variant: capture.Peer, Threads: 1}, argv: []string{self}, dir: t.TempDir(), patience: patience}
	t.Cleanup(func() { p.stop() })
	return p
}

var settings = capture.Settings{Samples: 3, Warmup: 1, Seed: 1, MinSample: time.Microsecond}

// measure takes a capture of the interpreter and a peer.
func measure(t *testing.T, c capture.Candidate, subjects ...*capture.Subject) *capture.Capture {
	t.Helper()
	m := capture.New(settings)
	m.Limits = func(context.Context) *capture.Limits { return nil }
	got, err := m.Measure(t.Context(), subjects, []capture.Candidate{capture.OnBackend(interp.New(), capture.Written, 1), c})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPeer(t *testing.T) {
	p := fake(t, "", time.Minute)
	c := measure(t, p, relu(t))
	s := c.Workloads[0].Series[1]
	if s.Error != "" || s.Label.String() != "fake, 1 thread" || s.Cache != capture.Miss || s.Prepare != 5e-3 || s.Runs != 11 {
		t.Fatalf("series %+v", s)
	}
	for i := range settings.Samples {
		if math.Round(s.Wall[i]*1e9) != 100 || math.Round(s.CPU[i]*1e9) != 50 {
			t.Errorf("sample %d took %v s, %v s of CPU time", i, s.Wall[i], s.CPU[i])
		}
	}
	if c.Environment.Peers["fake"]["fake"] != "1.0" {
		t.Errorf("peers %v", c.Environment.Peers)
	}
	if err := capture.Verify(c); err != nil {
		t.Error(err)
	}
}

// A peer on a GPU tells the time of a run by its clock.
func TestPeerOnDevice(t *testing.T) {
	for mode, want := range map[string]string{
		"": "", "no device time": "a run took the device 0s", "endless device time": "that passed", "crash device": "its process has ended",
	} {
		p := fake(t, mode, time.Minute)
		p.device = CUDA
		c := measure(t, p, relu(t))
		s := c.Workloads[0].Series[1]
		if want != "" {
			if !strings.Contains(s.Error, want) || len(s.Device) > 0 {
				t.Errorf("%s: error %q, want %q", mode, s.Error, want)
			}
			continue
		}
		if s.Error != "" || len(s.Device) != settings.Samples || math.Round(s.Device[0]*1e9) != 70 {
			t.Errorf("series %+v", s)
		}
		if err := capture.Verify(c); err != nil {
			t.Error(err)
		}
	}
}

// TestCandidates sees what peers there are on which device.
func TestCandidates(t *testing.T) {
	p, err := Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if l := p.Candidate("torch-eager", CUDA, 1).Label(); l.String() != "torch-eager cuda, 1 thread" {
		t.Errorf("label %v", l)
	}
	if l := p.Candidate("numpy", CPU, 2).Label(); l.String() != "numpy, 2 threads" {
		t.Errorf("label %v", l)
	}
	if !slices.Equal(OnDevice(CPU), Names()) || !slices.Equal(OnDevice(CUDA), []string{"torch-eager", "torch-compile"}) {
		t.Errorf("peers %q, %q", OnDevice(CPU), OnDevice(CUDA))
	}
	if env := environment(1, CUDA); slices.Contains(env, "TORCHINDUCTOR_COMPILE_THREADS=1") {
		t.Error("the compiler of a peer on a GPU has one thread")
	}
}

// A peer that reads model files gets the one that a program came from.
func TestPeerGetsTheFile(t *testing.T) {
	s := relu(t)
	s.File = &capture.ModelFile{
		Path:    "relu.onnx",
		Inputs:  []tensor.Named{{Name: "x:0", Tensor: s.Inputs[0]}, {Name: "k", Tensor: tensor.Scalar(tensor.I64, 7)}},
		Outputs: []string{"y:0"},
	}
	if got := measure(t, fake(t, "file", time.Minute), s).Workloads[0].Series[1]; got.Error != "" {
		t.Error(got.Error)
	}
}

// Whatever a peer does wrong is its own error, the others are measured, and no
// process is left.
func TestPeerFails(t *testing.T) {
	for mode, want := range map[string]string{
		"crash hello":     "its process has ended; it last wrote: segmentation fault",
		"crash prepare":   "its process has ended; it last wrote: segmentation fault",
		"crash run":       "its process has ended; it last wrote: segmentation fault",
		"crash time":      "its process has ended; it last wrote: segmentation fault",
		"hang prepare":    "it did not answer in 200ms",
		"hang time":       "it did not answer in 200ms",
		"garbage hello":   `it answers "Loading libraries…", which is no answer`,
		"garbage prepare": "which is no answer",
		"long run":        "token too long",
		"id prepare":      "it answers request 9 when asked number 2",
		"twice prepare":   "that its cache is",
		"silent time":     "which says nothing",
		"field prepare":   "unknown field",
		"error prepare":   "Unsupported: relu is not written",
		"error time":      "Unsupported: relu is not written",
		"cache":           `that its cache is "warm"`,
		"cost":            "preparing took -1 ns",
		"no time":         "1 runs took 0s",
		"endless":         "that passed",
		"negative time":   "-1ns of CPU time",
		"no results":      "no such file",
		"no archive":      "npz",
		"folder":          "not a regular file",
		"two results":     "there are 2 arrays, not 1",
		"name":            `array 0 is called "y"`,
		"shape":           "has the shape [4,2], not [2,4]",
		"dtype":           "array 0 is of f64, not of f32",
		"nan":             "1 elements that are infinite or NaN",
		"off":             "the results are off by up to 0.01",
	} {
		t.Run(mode, func(t *testing.T) {
			patience := time.Minute
			if strings.HasPrefix(mode, "hang") {
				patience = 200 * time.Millisecond
			}
			p := fake(t, mode, patience)
			c := measure(t, p, relu(t))
			if s := c.Workloads[0].Series[1]; !strings.Contains(s.Error, want) || len(s.Wall) > 0 {
				t.Errorf("%d samples, error %q; want %q", len(s.Wall), s.Error, want)
			}
			if s := c.Workloads[0].Series[0]; s.Error != "" || len(s.Wall) != settings.Samples {
				t.Errorf("the interpreter has %d samples, error %q", len(s.Wall), s.Error)
			}
			if err := capture.Verify(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// A peer that crashed on one program gets a new process for the next.
func TestPeerStartsAgain(t *testing.T) {
	p := fake(t, "crash time", time.Minute)
	if _, err := p.Prepare(t.Context(), relu(t)); err != nil {
		t.Fatal(err)
	}
	first := p.process.PID()
	if _, _, err := (&remote{peer: p}).Time(t.Context(), 0, 1); err == nil || p.process != nil {
		t.Fatalf("the process lives after %v", err)
	}
	if err := syscall.Kill(first, 0); err != syscall.ESRCH {
		t.Errorf("the first process: %v", err)
	}
	if _, _, err := (&remote{peer: p}).Time(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "its process has ended") {
		t.Errorf("without a process: %v", err)
	}
	if _, err := p.Prepare(t.Context(), relu(t)); err != nil {
		t.Errorf("the second process: %v", err)
	}
}

// A request that ends with its context leaves no process.
func TestPeerCancelled(t *testing.T) {
	p := fake(t, "hang prepare", time.Minute)
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	process := p.process
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := process.ask(ctx, request{Do: "prepare"}, &struct{}{}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the request ended with %v", err)
	}
	p.stop()
	if err := syscall.Kill(process.PID(), 0); err != syscall.ESRCH {
		t.Errorf("the process: %v", err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open("no/such/python"); err == nil || !strings.Contains(err.Error(), "make peers installs one") {
		t.Errorf("a Python that is not there: %v", err)
	}
	if _, err := ParseNames("numpy,jax", CPU); err == nil || !strings.Contains(err.Error(), `no peer "jax"; there are onnxruntime, torch-eager`) {
		t.Errorf("an unknown peer: %v", err)
	}
	if list, err := ParseNames("all", CPU); err != nil || !slices.Equal(list, Names()) {
		t.Errorf("all are %v, %v", list, err)
	}
	if _, err := ParseNames("torch-eager,numpy", CUDA); err == nil || !strings.Contains(err.Error(), "numpy does not run on cuda; torch-eager and torch-compile do") {
		t.Errorf("a peer that has no GPU: %v", err)
	}
	p, err := Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.dir + "/scripts/peers.py"); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestLibraries runs every model of the suite on the libraries themselves, where
// they are installed: each result has to pass the gate against float64. They run on
// the device that FORGE_PEERS_DEVICE names, or else on the processor, and the models
// are all, or those that FORGE_PEERS_MODELS lists.
func TestLibraries(t *testing.T) {
	python := os.Getenv("FORGE_PEERS_PYTHON")
	if python == "" {
		t.Skip("FORGE_PEERS_PYTHON names no Python with the peers; make peers installs one")
	}
	peers, err := Open(python)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := peers.Close(); err != nil {
			t.Error(err)
		}
	})
	device := cmp.Or(Device(os.Getenv("FORGE_PEERS_DEVICE")), CPU)
	var candidates []capture.Candidate
	for _, name := range OnDevice(device) {
		candidates = append(candidates, peers.Candidate(name, device, 1))
	}
	var subjects []*capture.Subject
	models := suite.Names()
	if list := os.Getenv("FORGE_PEERS_MODELS"); list != "" {
		models = strings.Split(list, ",")
	}
	for _, name := range models {
		g, err := suite.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := capture.NewSubject(name, g, 1)
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, s)
	}
	c, err := capture.New(settings).Measure(t.Context(), subjects, candidates)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Failures() {
		t.Error(err)
	}
	for _, candidate := range candidates {
		if name := candidate.Label().Backend; len(c.Environment.Peers[name]) < 2 {
			t.Errorf("%s says of itself %v", name, c.Environment.Peers[name])
		}
	}
	for _, w := range c.Workloads {
		for _, s := range w.Series {
			if s.Summary != nil {
				t.Logf("%s on %v: %.2f µs, prepared in %.1f s", w.Name, s.Label, 1e6*s.Summary.Median, s.Prepare)
			}
		}
	}
}
