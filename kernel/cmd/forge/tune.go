package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/suite"
	"forgekernel/forge/tune"
	"forgekernel/kernel/replace"
)

// tuning are the flags of the command that tunes.
type tuning struct {
	program
	suite  string
	budget time.Duration
	within float64 // percent; 0 asserts nothing
	figure string
}

// tuned is what tuning a program gave.
type tuned struct {
	Program string        `json:"program"`
	Record  *forge.Tuning `json:"record,omitempty"`
	// Device is what was measured on a GPU in place of that.
	Device *forge.DeviceTuning `json:"device,omitempty"`
	// Retrial is what measuring again showed, if that was asked for.
	Retrial *tune.Retrial `json:"retrial,omitempty"`
}

func tuneCommand() *cobra.Command {
	var (
		t      tuning
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "tune FILE [--shapes 8x16,16x12,12] | tune --suite NAME",
		Short: "Find the schedules of a program's kernels by measurement, and keep them",
		Long: `Tune measures how the kernels of a program run best on the backend cpu: the register
tile and the blocks of a product, its chains and rounds, the blocks of keys of an
attention, the width of the vectors and the chunks that threads share. Every
candidate is first compared with the float64 reference; those that pass are timed in
turn. The record, with all samples, is kept beside the compiled programs, and
programs with the same kernels are compiled with it from then on.

With --backend cuda it measures on a GPU the kernels that each node can have: generated
ones, those of libraries, and those of Triton where python3 or FORGE_TRITON_PYTHON has it.

With --assert P all candidates are measured again afterwards. The exit status is 1
when a pick then takes more than P percent longer than the best.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if err := t.validate(args); err != nil {
				return err
			}
			ctx, wipe := withProgress(cmd)
			list, err := t.all(ctx, args)
			wipe()
			if err != nil {
				return err
			}
			if err := t.draw(list); err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), list)
			} else {
				err = printTuned(cmd.OutOrStdout(), list)
			}
			return errors.Join(err, t.judge(list))
		}),
	}
	flags := cmd.Flags()
	t.bindingFlags(cmd)
	flags.StringVar(&t.backend, "backend", "cpu", "what is tuned: cpu, cuda or cuda:N")
	flags.IntVar(&t.threads, "threads", cpu.Cores(), "how many threads may share the work")
	flags.StringVar(&t.suite, "suite", "", "models of the suite in place of a file: all, mlp, neural, llm or one by name")
	flags.DurationVar(&t.budget, "budget", tune.DefaultSettings().Budget, "begin no kernel of a program after this time")
	flags.Float64Var(&t.within, "assert", 0, "measure again, and fail if a pick takes this many percent longer than the best")
	flags.StringVar(&t.figure, "figure", "", "draw the samples into this file, a .png or .svg; of several programs, those of the last")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (t *tuning) validate(args []string) error {
	ext := filepath.Ext(t.figure)
	switch {
	case (t.suite == "") == (len(args) == 0):
		return usageError{errors.New("tune takes a file or --suite NAME")}
	case t.suite != "" && t.binds():
		return usageError{errors.New("--shapes, --dim, --value and --entry are for files; a model of the suite has its own")}
	case t.backend != "cpu" && !t.onDevice():
		return usageError{fmt.Errorf("--backend: cpu, cuda and cuda:N have something to tune, and %s has not", t.backend)}
	case t.onDevice() && (t.within != 0 || t.figure != ""):
		return usageError{errors.New("--assert and --figure are for the backend cpu")}
	case t.budget <= 0:
		return usageError{fmt.Errorf("--budget: %v is not a duration", t.budget)}
	case t.within != 0 && !positive(t.within):
		return usageError{fmt.Errorf("--assert: %v is not a finite number above 0", t.within)}
	case t.figure != "" && ext != ".png" && ext != ".svg":
		return usageError{fmt.Errorf("--figure: %s ends neither in .png nor in .svg", t.figure)}
	}
	return checkBackend(t.backend)
}

// onDevice reports whether kernels of a GPU are tuned.
func (t *tuning) onDevice() bool { return t.backend == "cuda" || strings.HasPrefix(t.backend, "cuda:") }

// all tunes the file or the models.
func (t *tuning) all(ctx context.Context, args []string) ([]tuned, error) {
	if t.suite == "" {
		compiled, err := t.compile(ctx, args)
		if err != nil {
			return nil, err
		}
		one, err := t.one(ctx, compiled)
		return []tuned{one}, err
	}
	names, err := models(t.suite)
	if err != nil {
		return nil, usageError{err}
	}
	var list []tuned
	for _, name := range names {
		g, err := suite.Build(name)
		if err != nil {
			return nil, err
		}
		compiled, err := forge.FromGraph(g, forge.OnBackend(t.backend), forge.OnThreads(t.threads))
		if err != nil {
			return nil, err
		}
		one, err := t.one(ctx, compiled)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func (t *tuning) one(ctx context.Context, p *forge.Program) (tuned, error) {
	options := forge.TuneOptions{Budget: t.budget}
	out := tuned{Program: p.Name()}
	var err error
	if p.OnDevice() {
		out.Device, err = p.TuneOnDevice(ctx, options)
		return out, err
	}
	if out.Record, err = p.TuneContext(ctx, options); err == nil && t.within > 0 {
		out.Retrial, err = p.Retry(ctx, options, out.Record)
	}
	return out, err
}

// draw writes the figure.
func (t *tuning) draw(list []tuned) error {
	if t.figure == "" {
		return nil
	}
	figure := list[len(list)-1].Record.Chart()
	if len(figure.Panels) == 0 {
		return errors.New("--figure: no kernel has a choice, so that there is nothing to draw")
	}
	var content []byte
	var err error
	if filepath.Ext(t.figure) == ".svg" {
		var text string
		text, err = figure.SVG()
		content = []byte(text)
	} else {
		content, err = figure.PNG()
	}
	if err != nil {
		return fmt.Errorf("--figure: %w", err)
	}
	return replace.File(t.figure, func(w io.Writer) error { return copyTo(w, content) })
}

func printTuned(w io.Writer, list []tuned) error {
	for i, one := range list {
		var text string
		if one.Device != nil {
			text = one.Device.Text()
		} else {
			text = one.Record.Text()
		}
		if one.Retrial != nil {
			text += "\n" + one.Retrial.Text()
		}
		if i > 0 {
			text = "\n" + text
		}
		if err := printText(w, text); err != nil {
			return err
		}
	}
	return nil
}

// judge is the error of a pick that is too far from the best.
func (t *tuning) judge(list []tuned) error {
	var errs []error
	for _, one := range list {
		if one.Retrial == nil {
			continue
		}
		for i := range one.Retrial.Kernels {
			if k := &one.Retrial.Kernels[i]; 100*k.Excess() > t.within {
				errs = append(errs, fmt.Errorf("%s: %s takes %.1f %% longer with %v than with %v; --assert allows %v %%", one.Program, k.Shape, 100*k.Excess(), k.Chosen, k.Best, t.within))
			}
		}
	}
	return errors.Join(errs...)
}
