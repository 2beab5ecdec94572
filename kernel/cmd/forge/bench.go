package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/forge"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/capture"
	"forgekernel/forge/suite"
)

// measurable are the backends that can be measured, each for a number of threads
// up to its most; 0 is no bound.
var measurable = []struct {
	name string
	most int
	make func(threads int) backend.Backend
}{
	{"interp", 0, func(threads int) backend.Backend {
		b := interp.New()
		b.Workers = threads
		return b
	}},
	{"reference", 0, func(threads int) backend.Backend {
		b := interp.Reference()
		b.Workers = threads
		return b
	}},
	{"cpu", cpu.MaxThreads, func(threads int) backend.Backend {
		b := cpu.New()
		b.Threads = threads
		return b
	}},
	{"portable", 1, func(int) backend.Backend { return portable.New() }},
}

// groups are sets of models of the suite by what their names begin with.
var groups = []struct {
	name     string
	prefixes []string
}{
	{"all", []string{""}},
	{"mlp", []string{"mlp_"}},
	{"neural", []string{"mlp_", "residual_", "transformer_", "vision_"}},
	{"llm", []string{"gpt2_", "llama_"}},
}

// bench are the flags of the command that measures.
type bench struct {
	program
	backends []string
	variants []string
	threads  []int
	settings capture.Settings
}

func benchCommand() *cobra.Command {
	b := bench{settings: capture.DefaultSettings()}
	var (
		out    string
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "bench [SUITE|FILE]... [--backend interp,reference] [--samples N] [-o CAPTURE.json]",
		Short: "Measure programs on backends, in turn, and keep every sample",
		Long: `Bench measures ForgeScript files and models of the suite: all, mlp, neural, llm, or a
model by name; all of them without arguments. Every backend runs every variant of
the program with every number of threads, in turn, after its results were compared
with the float64 reference. What is written is a capture: raw samples and where
they come from, for "forge capture". The exit status is 1 if a candidate failed;
the capture is written all the same, and says why.`,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			ctx, wipe := withProgress(cmd)
			c, err := b.measure(ctx, args)
			wipe()
			if err != nil {
				return err
			}
			raw, err := capture.Encode(c)
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeTo(cmd, out, func(w io.Writer) error { return copyTo(w, raw) }); err != nil {
					return err
				}
			}
			if db != "" {
				if err := addToStore(cmd.Context(), db, c); err != nil {
					return err
				}
			}
			if err := printBench(cmd, c, raw, asJSON); err != nil {
				return err
			}
			return errors.Join(c.Failures()...)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&b.shapes, "shapes", "", "shapes of the inputs of files, such as 8x16,16x12,12 (default: those of the annotations)")
	flags.StringVar(&b.entry, "entry", "", "the function of a file to measure (default: the last)")
	flags.StringSliceVar(&b.backends, "backend", []string{"interp"}, "what runs the programs: "+strings.Join(measurableNames(), ", "))
	flags.StringSliceVar(&b.variants, "variant", []string{string(capture.Written), string(capture.Optimised)}, "the program as written, optimised, or both")
	flags.IntSliceVar(&b.threads, "threads", []int{1}, "numbers of threads")
	flags.IntVar(&b.settings.Samples, "samples", b.settings.Samples, "samples of each candidate; 0 means 1")
	flags.IntVar(&b.settings.Warmup, "warmup", b.settings.Warmup, "runs of each candidate before its first sample; 0 means 1")
	flags.Uint64Var(&b.settings.Seed, "seed", b.settings.Seed, "seed of the pseudo-random inputs")
	outputFlag(cmd, &out)
	flags.Lookup("output").Usage = "write the capture to this file"
	flags.StringVar(&db, "store", "", "add the capture to this SQLite file")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// copyTo writes all of raw.
func copyTo(w io.Writer, raw []byte) error {
	_, err := io.Copy(w, bytes.NewReader(raw))
	return err
}

// printBench shows a fresh capture: what is printed need not be reproducible.
func printBench(cmd *cobra.Command, c *capture.Capture, raw []byte, asJSON bool) error {
	if asJSON {
		return copyTo(cmd.OutOrStdout(), raw)
	}
	r, err := capture.NewReport(c, true)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), r.Text())
	return err
}

func measurableNames() []string {
	var names []string
	for _, m := range measurable {
		names = append(names, m.name)
	}
	return names
}

func (b *bench) measure(ctx context.Context, args []string) (*capture.Capture, error) {
	for name, n := range map[string]int{"samples": b.settings.Samples, "warmup": b.settings.Warmup} {
		if n < 0 {
			return nil, usageError{fmt.Errorf("--%s: %d is below zero", name, n)}
		}
	}
	b.settings.Samples, b.settings.Warmup = max(b.settings.Samples, 1), max(b.settings.Warmup, 1)
	candidates, err := b.candidates()
	if err != nil {
		return nil, usageError{err}
	}
	if len(args) == 0 {
		args = []string{"all"}
	}
	var subjects []*capture.Subject
	for _, arg := range args {
		list, err := b.subjects(ctx, arg)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, list...)
	}
	return instrument(b.settings).Measure(ctx, subjects, candidates)
}

// unstamped is the version of a program that was built without one.
const unstamped = "devel"

// instrument knows what this program was built from.
func instrument(s capture.Settings) *capture.Instrument {
	m := capture.New(s)
	describe := m.Describe
	m.Describe = func(ctx context.Context) capture.Environment {
		e := describe(ctx)
		if version != unstamped {
			e.Stamp(version)
		}
		return e
	}
	return m
}

// candidates are all combinations of the flags.
func (b *bench) candidates() ([]capture.Candidate, error) {
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
					return nil, fmt.Errorf("--threads: %d threads run nothing", threads)
				}
				if most := measurable[i].most; most > 0 && threads > most {
					return nil, fmt.Errorf("--threads: %s runs on at most %d, not on %d", name, most, threads)
				}
				list = append(list, capture.OnBackend(measurable[i].make(threads), v, threads))
			}
		}
	}
	return list, nil
}

// subjects are the models or the function that an argument names.
func (b *bench) subjects(ctx context.Context, arg string) ([]*capture.Subject, error) {
	names := models(arg)
	if names == nil {
		if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) && filepath.Ext(arg) == "" {
			return nil, usageError{noModel(arg, " and no such file")}
		}
		s, err := b.file(ctx, arg)
		return []*capture.Subject{s}, err
	}
	var list []*capture.Subject
	for _, name := range names {
		g, err := suite.Build(name)
		if err != nil {
			return nil, err
		}
		s, err := capture.NewSubject(name, g, b.settings.Seed)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// noModel says that a name means nothing, and what there is.
func noModel(name, nor string) error {
	return fmt.Errorf("there is no model or group %q%s; there are all, mlp, neural, llm and %s", name, nor, strings.Join(suite.Names(), ", "))
}

// models are those that a name means, nil if it is that of a file.
func models(name string) (list []string) {
	for _, g := range groups {
		if g.name != name {
			continue
		}
		for _, model := range suite.Names() {
			if slices.ContainsFunc(g.prefixes, func(p string) bool { return strings.HasPrefix(model, p) }) {
				list = append(list, model)
			}
		}
		return list
	}
	if slices.Contains(suite.Names(), name) {
		return []string{name}
	}
	return nil
}

// file is the entry function of a file.
func (b *bench) file(ctx context.Context, path string) (*capture.Subject, error) {
	b.program.backend, b.program.threads = forge.DefaultBackend, 1
	compiled, err := b.compile(ctx, []string{path})
	if err != nil {
		return nil, err
	}
	written := compiled.Snapshots()[0].Snapshot.Graph
	return capture.NewSubject(compiled.Name(), written, b.settings.Seed)
}
