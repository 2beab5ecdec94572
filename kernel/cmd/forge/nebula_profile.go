package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/kernel/replace"
	measure "forgekernel/nebula/bench"
	"forgekernel/nebula/trace"
)

// profile are the flags of the command that records what ranks do.
type profile struct {
	decoder
	settings measure.Settings
	size     int
	output   string
	asJSON   bool
}

func nebulaProfileCommand() *cobra.Command {
	p := &profile{settings: measure.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "profile --model MODEL --output DIR [--tp 2 --pp 2]",
		Short: "Record what the ranks of a job do over time",
		Long: `Profile runs one batch, its prefill and its decode steps, and writes what each rank did
as Chrome traces, for chrome://tracing and Perfetto: one of each rank and trace.json of
all on one clock, with regions for attention, feed-forward parts, appends to the cache,
collectives and waits; and timeline.svg. Programs run kernel by kernel meanwhile, which
is somewhat slower than otherwise.`,
		Example: `  forge nebula profile --model tiny --tp 2 --batch 2 --new-tokens 8 --output traces`,
		Args:    noArguments,
		RunE:    stoppableRanks(func(cmd *cobra.Command, _ []string) error { return p.start(cmd) }),
	}
	p.decoder.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&p.size, "batch", 4, "size of the batch")
	f.IntVar(&p.settings.Prompt, "prompt-tokens", p.settings.Prompt, "tokens of each prompt")
	f.IntVar(&p.settings.New, "new-tokens", 8, "tokens to generate for each prompt, at least 2")
	outputFlag(cmd, &p.output)
	f.Lookup("output").Usage = "folder for the traces, which is made if there is none"
	jsonFlag(cmd, &p.asJSON)
	return cmd
}

// kernelRegions is how many regions a layer has in a program, at most, where kernels
// are recorded.
const kernelRegions = 64

func (p *profile) start(cmd *cobra.Command) error {
	if p.output == "" {
		return usageError{errors.New("--output is needed: a folder for the traces")}
	}
	p.settings.Batches, p.settings.Repeats = []int{p.size}, 1
	m, err := p.open(max(1, p.size), max(1, p.size), max(leastContext, p.settings.Prompt+p.settings.New))
	if err != nil {
		return err
	}
	if err := p.settings.Check(m.Config()); err != nil {
		m.Close()
		return usageError{err}
	}
	steps := 2 * (p.settings.New*p.spec.Layout.PP + p.size*p.settings.Prompt/16 + 16)
	p.spec.Engine.Kernels = true
	p.spec.Engine.Regions = min(1<<20, steps*kernelRegions*(m.Config().Layers+2))
	return p.lead(cmd, m, func(ctx context.Context, l *led) error { return p.run(ctx, cmd, l) })
}

// bubbleRow is how much of the time of decode steps a rank waited.
type bubbleRow struct {
	Rank   int     `json:"rank"`
	Stage  int     `json:"stage"`
	Window float64 `json:"window_s"`
	Busy   float64 `json:"busy_s"`
	Share  float64 `json:"bubble"`
}

func (p *profile) run(ctx context.Context, cmd *cobra.Command, l *led) error {
	l.Scheduler.Close() // the engine is ours
	if err := os.MkdirAll(p.output, 0o777); err != nil {
		return err
	}
	shown, wipe := withProgressOf(ctx, cmd)
	recorded, err := measure.Record(shown, measure.Subject{Engine: l.Engine, Name: l.model.Name(), Model: l.model.Decoder()}, p.settings)
	wipe()
	if err != nil {
		return err
	}
	if err := p.write(recorded.Trace); err != nil {
		return err
	}
	rows := []bubbleRow{}
	for _, b := range recorded.Bubbles() {
		rows = append(rows, bubbleRow{b.Rank, b.Stage, b.Window.Seconds(), b.Busy.Seconds(), b.Share()})
	}
	out := cmd.OutOrStdout()
	if p.asJSON {
		return printJSON(out, rows)
	}
	return printText(out, recorded.Trace.Summary().Text()+"\n"+bubbleTable(rows).Text())
}

// write leaves the traces in the folder.
func (p *profile) write(job trace.Job) error {
	write := func(name string, ranks ...trace.Rank) error {
		return replace.File(filepath.Join(p.output, name), func(w io.Writer) error { return trace.WriteChrome(w, ranks...) })
	}
	for _, r := range job {
		if err := write(fmt.Sprintf("rank-%d.json", r.Rank), r); err != nil {
			return err
		}
	}
	if err := write("trace.json", job...); err != nil {
		return err
	}
	svg, err := job.Chart().SVG()
	if err != nil {
		return err
	}
	return replace.File(filepath.Join(p.output, "timeline.svg"), func(w io.Writer) error { return copyTo(w, []byte(svg)) })
}

func bubbleTable(rows []bubbleRow) display.Table {
	t := display.Table{Title: "Waiting of the pipeline in decode steps", Columns: []display.Column{
		{Name: "rank"}, {Name: "stage"}, {Name: "window", Unit: "ms"}, {Name: "busy", Unit: "ms"}, {Name: "bubble", Unit: "%"},
	}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []any{r.Rank, r.Stage, r.Window * 1e3, r.Busy * 1e3, r.Share * 100})
	}
	return t
}
