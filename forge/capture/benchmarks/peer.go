package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// peer is a candidate that runs in a process.
type peer struct {
	label    capture.Label
	device   Device
	argv     []string
	dir      string
	patience time.Duration

	process  *process // nil when none runs
	versions map[string]string
}

func (p *peer) Label() capture.Label { return p.label }

// Describe is what the process said of its libraries.
func (p *peer) Describe() map[string]string { return maps.Clone(p.versions) }

// Prepare hands a program over, and starts a process first if none runs.
func (p *peer) Prepare(ctx context.Context, s *capture.Subject) (capture.Prepared, error) {
	if err := p.start(ctx); err != nil {
		return capture.Prepared{}, err
	}
	program, arrays := filepath.Join(p.dir, "program.json"), filepath.Join(p.dir, "program.npz")
	if err := exchange(s, program, arrays); err != nil {
		return capture.Prepared{}, err
	}
	ask := request{Do: "prepare", Program: program, Arrays: arrays}
	if s.File != nil {
		path, err := filepath.Abs(s.File.Path)
		if err != nil {
			return capture.Prepared{}, err
		}
		ask.Model = &modelFile{Path: path, Outputs: s.File.Outputs}
		for _, in := range s.File.Inputs {
			ask.Model.Inputs = append(ask.Model.Inputs, in.Name)
		}
	}
	var done struct {
		Cost  int64              `json:"cost_ns"`
		Cache capture.CacheState `json:"cache"`
	}
	if err := p.ask(ctx, ask, &done); err != nil {
		return capture.Prepared{}, err
	}
	switch done.Cache {
	case capture.NoCache, capture.Hit, capture.Miss:
	default:
		return capture.Prepared{}, p.abandon(fmt.Errorf("it says that its cache is %q", done.Cache))
	}
	if done.Cost <= 0 {
		return capture.Prepared{}, p.abandon(fmt.Errorf("it says that preparing took %d ns", done.Cost))
	}
	prepared := capture.Prepared{Runner: &remote{p, s.Written.Outputs}, Cache: done.Cache, Cost: time.Duration(done.Cost)}
	if p.device == CUDA {
		prepared.Runner = &onDevice{&remote{p, s.Written.Outputs}}
	}
	return prepared, nil
}

// start starts a process unless one runs, and asks what it is.
func (p *peer) start(ctx context.Context) error {
	if p.process != nil {
		return nil
	}
	var err error
	if p.process, err = launch(p.argv, p.label.Threads, p.device); err != nil {
		return err
	}
	var hello struct {
		Versions map[string]string `json:"versions"`
	}
	if err := p.ask(ctx, request{Do: "hello"}, &hello); err != nil {
		p.stop()
		return err
	}
	p.versions = hello.Versions
	return nil
}

// ask sends a request and waits for the answer. After a failure of the process,
// other than one that it reports itself, there is none any more.
func (p *peer) ask(ctx context.Context, r request, into any) error {
	if p.process == nil {
		return errors.New("its process has ended")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.patience, fmt.Errorf("it did not answer in %v", p.patience))
	defer cancel()
	err := p.process.ask(ctx, r, into)
	var reported *reportedError
	if err != nil && !errors.As(err, &reported) {
		return p.abandon(err)
	}
	return err
}

// abandon ends a process that cannot be trusted any more.
func (p *peer) abandon(err error) error {
	if last := p.stop(); last != "" {
		return fmt.Errorf("%w; it last wrote: %s", err, last)
	}
	return err
}

// stop ends the process, if there is one, and returns the last line that it wrote
// to standard error.
func (p *peer) stop() string {
	if p.process == nil {
		return ""
	}
	last := p.process.End()
	p.process = nil
	return last
}

// exchange writes the program and its arrays where the process reads them.
func exchange(s *capture.Subject, program, arrays string) error {
	outline, err := s.Written.Outline()
	if err != nil {
		return err
	}
	if err := os.WriteFile(program, outline, 0o600); err != nil {
		return err
	}
	var named []tensor.Named
	add := func(kind string, i int, t *tensor.Tensor) {
		named = append(named, tensor.Named{Name: fmt.Sprint(kind, i), Tensor: t})
	}
	for _, n := range s.Written.Nodes {
		if n.Op.Class == ir.Constant {
			add("c", len(named), n.Tensor("value"))
		}
	}
	for i, t := range s.Inputs {
		add("i", i, t)
	}
	if s.File != nil {
		for i, in := range s.File.Inputs {
			add("m", i, in.Tensor)
		}
	}
	f, err := os.Create(arrays)
	if err != nil {
		return err
	}
	return errors.Join(tensor.WriteNPZ(f, named), f.Close())
}

// remote is a program that a process has prepared.
type remote struct {
	peer    *peer
	outputs []*ir.Value
}

// Run returns the results of one run, which the process writes to a file.
func (r *remote) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	path := filepath.Join(r.peer.dir, "results.npz")
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	if err := r.peer.ask(ctx, request{Do: "run", Results: path}, &struct{}{}); err != nil {
		return nil, err
	}
	list, err := results(path, r.outputs)
	if err != nil {
		return nil, r.peer.abandon(fmt.Errorf("its results: %w", err))
	}
	return list, nil
}

// results reads an archive of the outputs in order.
func results(path string, outputs []*ir.Value) ([]*tensor.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("they are not a regular file")
	}
	named, err := tensor.ReadNPZ(f, info.Size())
	if err != nil {
		return nil, err
	}
	if len(named) != len(outputs) {
		return nil, fmt.Errorf("there are %d arrays, not %d", len(named), len(outputs))
	}
	list := make([]*tensor.Tensor, len(named))
	for i, n := range named {
		if n.Name != fmt.Sprint("o", i) {
			return nil, fmt.Errorf("array %d is called %q", i, n.Name)
		}
		if n.Tensor.DType() != outputs[i].Spec.DType {
			return nil, fmt.Errorf("array %d is of %v, not of %v", i, n.Tensor.DType(), outputs[i].Spec.DType)
		}
		list[i] = n.Tensor
	}
	return list, nil
}

// Time has the process time its runs.
func (r *remote) Time(ctx context.Context, lead, runs int) (wall, cpu time.Duration, err error) {
	var took struct {
		Wall int64 `json:"wall_ns"`
		CPU  int64 `json:"cpu_ns"`
	}
	start := time.Now()
	if err := r.peer.ask(ctx, request{Do: "time", Lead: lead, Runs: runs}, &took); err != nil {
		return 0, 0, err
	}
	wall, cpu = time.Duration(took.Wall), time.Duration(took.CPU)
	if passed := time.Since(start); wall <= 0 || cpu < 0 || wall > passed {
		return 0, 0, r.peer.abandon(fmt.Errorf("it says that %d runs took %v, %v of CPU time, of %v that passed", runs, wall, cpu, passed))
	}
	return wall, cpu, nil
}

// onDevice is a program that a process has prepared on a device with a clock of its own.
type onDevice struct{ *remote }

// DeviceTime is the time of one run by the clock of the device.
func (r *onDevice) DeviceTime(ctx context.Context) (time.Duration, error) {
	var took struct {
		Device int64 `json:"device_ns"`
	}
	start := time.Now()
	if err := r.peer.ask(ctx, request{Do: "device"}, &took); err != nil {
		return 0, err
	}
	device := time.Duration(took.Device)
	if passed := time.Since(start); device <= 0 || device > passed {
		return 0, r.peer.abandon(fmt.Errorf("it says that a run took the device %v of %v that passed", device, passed))
	}
	return device, nil
}
