package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/backend"
	"forgekernel/forge/capture"
	"forgekernel/forge/capture/benchmarks"
	"forgekernel/kernel/notebook/terminal"
)

// measurable are the backends that can be measured, each for a number of threads
// up to its most; 0 is no bound.
var measurable = []struct {
	name string
	most int
}{{"cpu", forge.MaxThreads}, {"portable", 1}, {"interp", 0}, {"reference", 0}, {"cuda", 1}}

// bench are the flags of the command that measures.
type bench struct {
	program
	suite    []string
	floats   string // the type of floats in models of the suite
	device   string
	backends []string
	variants []string
	threads  []int
	peers    string
	python   string
	settings capture.Settings
	inputs   string
	iters    int // samples of a file
	repeats  int // samples of a suite

	output     string
	resume     bool
	store      string
	emitSource bool
	asJSON     bool
}

func benchCommand() *cobra.Command {
	b := &bench{settings: capture.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "bench FILE [--shapes 8x16,16x12,12] [--iters 50] | bench --suite mlp|neural|llm|all [--repeats 25]",
		Short: "Measure programs on backends and on other libraries, in turn, and keep every sample",
		Long: `Bench measures a ForgeScript file, or models of the suite: mlp, neural, llm, all, or a
model by name. Every backend runs every variant of the program with every number of
threads, and so does every peer (` + strings.Join(benchmarks.Names(), ", ") + `), in turn, after its
results were compared with the float64 reference. What is written is a capture: raw
samples and where they come from. The exit status is 1 if a candidate failed; the
capture is written all the same, and says why.

The peers run in the Python environment that "make peers" sets up.`,
		Args: cobra.ArbitraryArgs,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if err := b.check(cmd, args); err != nil {
				return usageError{err}
			}
			return b.run(cmd, args)
		}),
	}
	b.benchFlags(cmd)
	cmd.AddCommand(benchCompareCommand(), benchReportCommand())
	return cmd
}

func (b *bench) benchFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&b.suite, "suite", nil, "models to measure in place of a file: "+strings.Join(suiteNames(), ", ")+", or the name of one")
	flags.StringVar(&b.floats, "dtype", "f32", "the type of floats in models of the suite: f32, f16, bf16 or f64")
	b.bindingFlags(cmd)
	flags.StringVar(&b.inputs, "inputs", "", "an .npz archive with the inputs of a file, in place of random ones")
	flags.IntVar(&b.iters, "iters", 50, "samples of each candidate on a file; 0 means 1")
	flags.IntVar(&b.repeats, "repeats", b.settings.Samples, "samples of each candidate on a suite; 0 means 1")
	flags.IntVar(&b.settings.Warmup, "warmup", b.settings.Warmup, "runs of each candidate before its first sample; 0 means 1")
	flags.Uint64Var(&b.settings.Seed, "seed", b.settings.Seed, "seed of the pseudo-random inputs")
	flags.StringVar(&b.device, "device", "cpu", "where inputs and results are: cpu, or cuda, where they stay on the GPU between runs")
	flags.StringSliceVar(&b.backends, "backend", []string{"cpu"}, "what runs the programs: "+strings.Join(measurableNames(), ", "))
	flags.StringSliceVar(&b.variants, "variant", []string{string(capture.Written), string(capture.Optimised)}, "the program as written, optimised, or both")
	flags.IntSliceVar(&b.threads, "threads", []int{1}, "numbers of threads")
	flags.StringVar(&b.peers, "peers", "", "other libraries to measure beside: all, or some of "+strings.Join(benchmarks.Names(), ", "))
	flags.StringVar(&b.python, "peer-python", ".venv-peers/bin/python", "the Python interpreter that has the peers")
	outputFlag(cmd, &b.output)
	flags.Lookup("output").Usage = "write the capture to this file, after each program"
	flags.BoolVar(&b.resume, "resume", false, "go on with the capture in the output file, if there is one")
	flags.StringVar(&b.store, "store", "", "add the capture to this SQLite file")
	flags.BoolVar(&b.emitSource, "emit-source", false, "print the code that the backends generate first")
	jsonFlag(cmd, &b.asJSON)
}

// check refuses flags that do not go together, and reads what they mean.
func (b *bench) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	if b.device == "cuda" && !given("backend") {
		b.backends = []string{"cuda"}
	}
	b.settings.Samples = b.iters
	if given("suite") {
		b.settings.Samples = b.repeats
	}
	switch {
	case given("suite") && len(args) > 0:
		return errors.New("bench measures a FILE or a --suite, not both")
	case !given("suite") && len(args) != 1:
		return errors.New("bench needs one FILE or a --suite")
	case given("suite") && (given("iters") || given("inputs") || b.binds()):
		return errors.New("--iters, --inputs, --shapes, --dim, --value and --entry are for a FILE; a suite has --repeats")
	case given("inputs") && given("seed"):
		return errors.New("--seed makes inputs and --inputs reads them: give one")
	case !given("suite") && given("dtype"):
		return errors.New("--dtype is for a --suite; a FILE says its types itself")
	case !given("suite") && given("repeats"):
		return errors.New("--repeats is for a --suite; a FILE has --iters")
	case b.settings.Samples < 0 || b.settings.Warmup < 0:
		return errors.New("a number of runs cannot be negative")
	case b.device != "cpu" && b.device != "cuda":
		return fmt.Errorf("--device: there is no device %q; there are cpu and cuda", b.device)
	case b.resume && b.output == "":
		return errors.New("--resume goes on with the file that --output names")
	case b.emitSource && b.asJSON:
		return errors.New("--emit-source prints text and --json a document: give one")
	}
	b.settings.Samples, b.settings.Warmup = max(b.settings.Samples, 1), max(b.settings.Warmup, 1)
	return nil
}

// run measures and shows. A capture whose candidates failed is shown first.
func (b *bench) run(cmd *cobra.Command, args []string) (err error) {
	ctx, wipe := withProgress(cmd)
	defer wipe()
	candidates, err := b.onBackends()
	if err != nil {
		return usageError{err}
	}
	if b.output != "" {
		if err := checkWritable(b.output); err != nil {
			return err
		}
	}
	if b.peers != "" {
		names, err := benchmarks.ParseNames(b.peers, benchmarks.Device(b.device))
		if err != nil {
			return usageError{fmt.Errorf("--peers: %w", err)}
		}
		peers, err := benchmarks.Open(b.python)
		if err != nil {
			return fmt.Errorf("--peer-python: %w", err)
		}
		defer func() { err = errors.Join(err, peers.Close()) }()
		for _, name := range names {
			for _, threads := range b.threads {
				candidates = append(candidates, peers.Candidate(name, benchmarks.Device(b.device), threads))
			}
		}
	}
	subjects, err := b.subjects(ctx, args)
	if err != nil {
		return err
	}
	if b.emitSource {
		wipe()
		if err := b.printSource(ctx, cmd.OutOrStdout(), subjects); err != nil {
			return err
		}
	}
	c, err := b.measure(ctx, subjects, candidates)
	wipe()
	if err != nil {
		return err
	}
	if b.store != "" {
		if err := addToStore(cmd.Context(), b.store, c); err != nil {
			return err
		}
	}
	if err := b.print(cmd, c); err != nil {
		return err
	}
	return errors.Join(c.Failures()...)
}

// measure takes the capture, or completes the one in the output file, and writes it
// there after each program.
func (b *bench) measure(ctx context.Context, subjects []*capture.Subject, candidates []capture.Candidate) (*capture.Capture, error) {
	m := capture.New(b.settings)
	if b.output != "" {
		m.Keep = func(c *capture.Capture) error { return writeCapture(b.output, c) }
	}
	if b.resume {
		switch begun, err := capture.Read(b.output); {
		case err == nil:
			return m.Resume(ctx, begun, subjects, candidates)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return m.Measure(ctx, subjects, candidates)
}

// print shows a fresh capture: what is printed need not be reproducible.
func (b *bench) print(cmd *cobra.Command, c *capture.Capture) error {
	if b.asJSON {
		raw, err := capture.Encode(c)
		if err != nil {
			return err
		}
		return copyTo(cmd.OutOrStdout(), raw)
	}
	r, err := capture.NewReport(c, true)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), r.TextWithin(terminal.Width(cmd.OutOrStdout())))
	return err
}

// printSource prints the code that each backend generates for each program.
func (b *bench) printSource(ctx context.Context, w io.Writer, subjects []*capture.Subject) error {
	for _, name := range b.backends {
		on, err := forge.NewBackend(name, b.threads[0])
		if err != nil {
			return err
		}
		for _, s := range subjects {
			exe, err := on.Compile(ctx, s.Optimised)
			if err != nil {
				return err
			}
			x, ok := exe.(interface{ Code() display.Source })
			if !ok {
				return fmt.Errorf("--emit-source: the backend %s generates no code; cpu does", name)
			}
			if _, err := fmt.Fprintln(w, x.Code().Code); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyTo writes all of raw.
func copyTo(w io.Writer, raw []byte) error {
	_, err := io.Copy(w, bytes.NewReader(raw))
	return err
}

func measurableNames() []string {
	var names []string
	for _, m := range measurable {
		names = append(names, m.name)
	}
	return names
}

// unstamped is the version of a program that was built without one.
const unstamped = "devel"

// candidate is one combination of the flags.
func (b *bench) candidate(name string, v capture.Variant, threads int) (capture.Candidate, error) {
	on, err := forge.NewBackend(name, threads)
	if err != nil {
		return nil, err
	}
	if b.device == "cuda" {
		r, ok := on.(backend.Resident)
		if !ok {
			return nil, fmt.Errorf("--device cuda: backend %s runs on the processor; cuda does not", name)
		}
		return capture.OnDevice(r, v, threads), nil
	}
	return capture.OnBackend(on, v, threads), nil
}

// onBackends are all combinations of the flags.
func (b *bench) onBackends() ([]capture.Candidate, error) {
	var list []capture.Candidate
	for _, name := range b.backends {
		i := slices.Index(measurableNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("--backend: there is no backend %q; there are %s", name, strings.Join(measurableNames(), ", "))
		}
		for _, variant := range b.variants {
			v := capture.Variant(variant)
			if v != capture.Written && v != capture.Optimised {
				return nil, fmt.Errorf("--variant: %q is not %s or %s", variant, capture.Written, capture.Optimised)
			}
			for _, threads := range b.threads {
				if threads < 1 {
					return nil, fmt.Errorf("--threads must be at least 1, not %d", threads)
				}
				if most := measurable[i].most; most > 0 && threads > most {
					return nil, fmt.Errorf("--threads: %s runs on at most %d, not on %d", name, most, threads)
				}
				c, err := b.candidate(name, v, threads)
				if err != nil {
					return nil, err
				}
				list = append(list, c)
			}
		}
	}
	return list, nil
}
