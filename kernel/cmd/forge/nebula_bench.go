package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
	"forgekernel/kernel/replace"
	measure "forgekernel/nebula/bench"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
)

// jobBench are the flags of the command that measures a job.
type jobBench struct {
	decoder
	settings measure.Settings
	output   string
	asJSON   bool

	cores      launch.Cores // of this process, before it is a rank, and may be bound
	processors []int
}

func nebulaBenchCommand() *cobra.Command {
	b := &jobBench{settings: measure.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "bench --model MODEL [--tp 2 --pp 2 --batch 1,4,16 --output FILE]",
		Short: "Measure a job, after its results were compared with a single process",
		Long: `Bench measures the prefill, the decode steps and the service of a job, for some sizes
of batch. Nothing is timed before logits and whole greedy continuations were compared
with those of a single process; the exit status is 1 if they differ. What is written is
a capture: raw samples and where they come from, for forge nebula compare.`,
		Example: `  forge nebula bench --model tiny --batch 1,4 --new-tokens 8 -o one.json
  forge nebula bench --model tiny --batch 1,4 --new-tokens 8 --tp 2 -o two.json`,
		Args: noArguments,
		RunE: stoppableRanks(func(cmd *cobra.Command, _ []string) error { return b.start(cmd) }),
	}
	b.decoder.flags(cmd)
	f := cmd.Flags()
	f.IntSliceVar(&b.settings.Batches, "batch", b.settings.Batches, "sizes of batch")
	f.IntVar(&b.settings.Prompt, "prompt-tokens", b.settings.Prompt, "tokens of each prompt")
	f.IntVar(&b.settings.New, "new-tokens", b.settings.New, "tokens to generate for each prompt, at least 2")
	f.IntVar(&b.settings.Prefix, "prefix", 0, "tokens that all prompts begin with; what sharing them saves is measured, too")
	f.IntVar(&b.settings.Repeats, "repeats", b.settings.Repeats, "repetitions")
	outputFlag(cmd, &b.output)
	f.Lookup("output").Usage = "write the capture to this file"
	jsonFlag(cmd, &b.asJSON)
	return cmd
}

// leastContext is the context of a measurement of short requests: a step has no more
// tokens than the context.
const leastContext = 512

func (b *jobBench) start(cmd *cobra.Command) error {
	m, err := b.open(b.settings.Largest(), b.settings.Largest(), max(leastContext, b.settings.Prompt+b.settings.New))
	if err != nil {
		return err
	}
	err = b.settings.Check(m.Config())
	if err != nil {
		err = usageError{err}
	} else if b.output != "" {
		err = checkWritable(b.output)
	}
	if err != nil {
		m.Close()
		return err
	}
	b.cores = launch.CoresHere(os.DirFS("/"))
	if b.processors, err = launch.Processors(); err != nil {
		m.Close()
		return err
	}
	b.spec.Engine.Regions = b.settings.Regions(m.Config(), b.spec.Layout)
	return b.lead(cmd, m, func(ctx context.Context, l *led) error { return b.run(ctx, cmd, l) })
}

// referenceOf opens the model again, as the reference; a test has another one.
var referenceOf = model.OpenRef

func (b *jobBench) run(ctx context.Context, cmd *cobra.Command, l *led) error {
	l.Scheduler.Close() // the engine is ours
	reference, err := referenceOf(b.spec.Model)
	if err != nil {
		return err
	}
	defer reference.Close()
	shown, wipe := withProgressOf(ctx, cmd)
	c, failed := measure.Run(shown, measure.Subject{
		Engine: l.Engine, Name: l.model.Name(), Model: reference, DType: b.spec.Engine.DType,
		Topology: measure.Topology{
			TP: b.tp, PP: b.pp, Threads: l.threads, Launcher: l.ranks.Launcher, Local: max(1, l.ranks.LocalSize), Cores: b.cores.Own,
		},
		Processors: b.processors,
		Describe:   capture.Describe,
	}, b.settings)
	wipe()
	if c == nil || failed != nil && !errors.Is(failed, measure.ErrGate) {
		return failed
	}
	raw, err := measure.Encode(c)
	if err != nil {
		return err
	}
	if b.output != "" {
		if err := replace.File(b.output, func(w io.Writer) error { return copyTo(w, raw) }); err != nil {
			return err
		}
	}
	if b.asJSON {
		err = copyTo(cmd.OutOrStdout(), raw)
	} else {
		err = printText(cmd.OutOrStdout(), c.Text())
	}
	return errors.Join(err, failed)
}
