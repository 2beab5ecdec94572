package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge/tensor"
	"forgekernel/nebula"
	"forgekernel/nebula/job"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// decoder are the flags of commands that run a model on the ranks of a job.
type decoder struct {
	name    string
	seed    uint64
	tp, pp  int
	dtype   string
	device  string
	context int

	spec job.Spec // after open
}

// defaultContext bounds the context unless a flag says otherwise: models with a long
// one would take a cache that few prompts need.
const defaultContext = 2048

func (d *decoder) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&d.name, "model", "m", "", "a folder as Hugging Face has it, a .gguf file, or the name of a shape, whose weights are made from a seed: tiny, smollm2-135m, ...")
	f.Uint64Var(&d.seed, "model-seed", 1, "seed of the weights of a shape")
	f.IntVar(&d.tp, "tp", 1, "ranks that share each layer")
	f.IntVar(&d.pp, "pp", 1, "stages that share the layers")
	f.StringVar(&d.dtype, "dtype", "f32", "element type of weights and cache: f32 or bf16")
	f.IntVar(&d.spec.Threads, "threads", 0, "threads of each rank; 0 is a fair share of the cores")
	f.StringVar(&d.spec.Backend, "backend", "", "what compiles the programs: cpu, portable, interp, cuda; default: C where there is a compiler")
	f.StringVar(&d.device, "device", "", "where the ranks run: cpu, or cuda, which gives each rank a GPU of its own; default: cpu")
	f.IntVar(&d.context, "context", 0, "most tokens of a request, prompt and continuation; 0 is as many as are sensible")
	f.DurationVar(&d.spec.Deadline, "deadline", 10*time.Second, "how long ranks wait for one another before the job has failed")
}

// open opens the model and says what its ranks are to agree on: the cache has room for
// so many requests of the whole context, a step at most so many rows, and the context
// is that, or the model's, unless the flag says otherwise.
func (d *decoder) open(requests, rows, context int) (*nebula.Model, error) {
	if d.name == "" {
		return nil, usageError{errors.New("--model is needed: a folder, a .gguf file, or the name of a shape")}
	}
	dtype, ok := tensor.ParseDType(d.dtype)
	if !ok || dtype != tensor.F32 && dtype != tensor.BF16 {
		return nil, usageError{fmt.Errorf("--dtype takes f32 or bf16, not %q", d.dtype)}
	}
	if err := d.onDevice(); err != nil {
		return nil, usageError{err}
	}
	m, err := openModel(d.name, d.seed)
	if err != nil {
		return nil, err
	}
	c := m.Config()
	d.spec.Model, d.spec.Layout = m.Ref(), shard.Layout{TP: d.tp, PP: d.pp}
	e := &d.spec.Engine
	e.DType, e.MaxRows, e.Context = dtype, rows, d.context
	if e.Context == 0 {
		e.Context = min(c.Context, context)
	}
	*e = e.WithDefaults(c)
	e.Blocks = requests * ((e.Context + e.BlockSize - 1) / e.BlockSize)
	if err := d.spec.Check(m.Decoder()); err != nil {
		m.Close()
		return nil, usageError{err}
	}
	return m, nil
}

// onDevice makes the backend that of the device.
func (d *decoder) onDevice() error {
	b := &d.spec.Backend
	switch {
	case d.device != "" && d.device != "cpu" && d.device != "cuda":
		return fmt.Errorf("--device takes cpu or cuda, not %q", d.device)
	case d.device == "cuda" && *b != "" && *b != "cuda", d.device == "cpu" && *b == "cuda":
		return fmt.Errorf("--device %s does not go with --backend %s", d.device, *b)
	case d.device == "cuda":
		*b = d.device
	}
	return nil
}

// openModel opens a path, or makes the model of a known shape.
func openModel(name string, seed uint64) (*nebula.Model, error) {
	_, err := os.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return nebula.Open(name)
	}
	c, unknown := model.Shape(name)
	if unknown != nil {
		return nil, fmt.Errorf("--model: there is no file %s, and %w", name, unknown)
	}
	return nebula.Seeded(c, seed), nil
}
