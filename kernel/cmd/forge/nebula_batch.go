package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/kernel/replace"
	"forgekernel/nebula"
	"forgekernel/nebula/sched"
)

// batch are the flags of the command that continues many prompts.
type batch struct {
	decoder
	sampling
	input  string
	output string
	rows   int
	asJSON bool
}

func nebulaBatchCommand() *cobra.Command {
	b := new(batch)
	cmd := &cobra.Command{
		Use:   "batch --model MODEL --input prompts.jsonl [--output out.jsonl]",
		Short: "Continue many prompts side by side",
		Long: `Batch reads a line of JSON for each prompt and writes one for each continuation, in the
same order. A line has "prompt" or "ids" and, where they differ from the flags,
"max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed",
"stop" and "logprobs"; an "id" is given back. What is wrong with one line is an "error"
in its place, and the exit status is 1. Prompts run side by side, as many as there are
rows; a new one begins as soon as another ends. All requests are in one job. Until all
are done, the lines that are there stand in the output's name with ".part" behind it, in
the order in which they came: whatever ends the job leaves them.`,
		Example: `  forge nebula batch --model tiny --input prompts.jsonl --output out.jsonl --tp 2`,
		Args:    noArguments,
		RunE: stoppableRanks(func(cmd *cobra.Command, _ []string) error {
			switch err := b.Params.Check(); {
			case err != nil:
				return usageError{err}
			case b.input == "":
				return usageError{errors.New("--input is needed: a file with a line of JSON for each prompt")}
			case b.rows < 1:
				return usageError{fmt.Errorf("--rows takes at least 1, not %d", b.rows)}
			case b.asJSON && (b.output == "" || b.output == standard):
				return usageError{errors.New("--json prints the summary, and needs an --output for the continuations")}
			}
			if b.output == standard {
				b.output = ""
			}
			if b.output != "" {
				if err := checkWritable(b.output); err != nil {
					return err
				}
			}
			m, err := b.open(b.rows, b.rows, defaultContext)
			if err != nil {
				return err
			}
			return b.lead(cmd, m, func(ctx context.Context, l *led) error { return b.run(ctx, cmd, l) })
		}),
	}
	b.decoder.flags(cmd)
	b.sampling.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&b.input, "input", "i", "", "file of the prompts; - is standard input")
	f.IntVar(&b.rows, "rows", 16, "prompts that are computed at once; the cache has room for so many of the whole context")
	outputFlag(cmd, &b.output)
	jsonFlag(cmd, &b.asJSON)
	f.Lookup("json").Usage = "print the summary as JSON for a program to read"
	return cmd
}

// Limits of the input.
const (
	maxBatchFile = 256 << 20 // bytes
	maxBatchLine = 8 << 20
)

// batchResult is a line of the output.
type batchResult struct {
	Line  int             `json:"line"` // of the input, from 1
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error,omitempty"`
	*generated
}

// readBatch splits the input into lines that are not empty, by their numbers.
func readBatch(path string) (lines map[int][]byte, order []int, err error) {
	raw, err := readBounded(path, maxBatchFile)
	if err != nil {
		return nil, nil, err
	}
	lines = make(map[int][]byte)
	in := bufio.NewScanner(bytes.NewReader(raw))
	in.Buffer(nil, maxBatchLine)
	for n := 1; in.Scan(); n++ {
		if line := bytes.TrimSpace(in.Bytes()); len(line) > 0 {
			lines[n], order = bytes.Clone(line), append(order, n)
		}
	}
	if err := in.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(order) == 0 {
		return nil, nil, fmt.Errorf("%s has no prompts", path)
	}
	return lines, order, nil
}

// batchSummary is what a batch took.
type batchSummary struct {
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"`
	Prompt    int     `json:"prompt_tokens"`
	Cached    int     `json:"cached_tokens"`
	Generated int     `json:"generated_tokens"`
	Wall      float64 `json:"wall_s"`      // from the first submission to the last token
	Rate      float64 `json:"token_per_s"` // generated tokens over the wall time
}

func (b *batch) run(ctx context.Context, cmd *cobra.Command, l *led) error {
	lines, order, err := readBatch(b.input)
	if err != nil {
		return err
	}
	j, err := nebula.Joined(l.model, l.spec, l.Local)
	if err != nil {
		return err
	}
	kept, err := newPart(b.output)
	if err != nil {
		return err
	}
	start := time.Now()
	results := b.continueAll(ctx, j, lines, order, kept.keep)
	sum := summarise(results, time.Since(start))
	write := func(w io.Writer) error {
		out := bufio.NewWriter(w)
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		for _, r := range results {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	if b.output == "" {
		err = write(cmd.OutOrStdout())
	} else {
		err = replace.File(b.output, write)
	}
	if err = errors.Join(err, kept.close(err == nil)); err != nil {
		return err
	}
	if b.asJSON {
		err = printJSON(cmd.OutOrStdout(), sum)
	} else {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s of %s (%d from the cache), %d failed; %s in %.3g s: %.4g tokens/s\n",
			display.Count(sum.Requests, "prompt"), display.Count(sum.Prompt, "token"), sum.Cached, sum.Failed, display.Count(sum.Generated, "token"), sum.Wall, sum.Rate)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case sum.Failed > 0:
		return fmt.Errorf("%d of %d prompts have no continuation, or not all of it: %s", sum.Failed, sum.Requests, firstError(results))
	}
	return nil
}

// continueAll keeps the queue of the job full, and tells of each result when it is there.
func (b *batch) continueAll(ctx context.Context, j *nebula.Job, lines map[int][]byte, order []int, tell func(batchResult)) []batchResult {
	results := make([]batchResult, len(order))
	places := make(chan struct{}, sched.DefaultLimit)
	var group sync.WaitGroup
	for i, n := range order {
		places <- struct{}{}
		group.Go(func() {
			results[i] = b.continueLine(ctx, j, n, lines[n])
			tell(results[i])
			<-places
		})
	}
	group.Wait()
	return results
}

func (b *batch) continueLine(ctx context.Context, j *nebula.Job, n int, raw []byte) batchResult {
	r := batchResult{Line: n}
	line, err := parseBatchLine(raw)
	if err == nil {
		r.ID = line.ID
		s := line.sampling(b.sampling)
		var c nebula.Completion
		if line.Prompt != nil {
			c, err = j.Run(ctx, *line.Prompt, s.options()...)
		} else {
			c, err = nebula.Collect(j.GenerateIDs(ctx, line.IDs, s.options()...))
		}
		g := newGenerated(c)
		r.generated = &g
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func summarise(results []batchResult, wall time.Duration) batchSummary {
	s := batchSummary{Requests: len(results), Wall: wall.Seconds()}
	for _, r := range results {
		if r.Error != "" {
			s.Failed++
		}
		if r.generated != nil {
			s.Prompt, s.Cached, s.Generated = s.Prompt+r.Usage.Prompt, s.Cached+r.Usage.Cached, s.Generated+len(r.IDs)
		}
	}
	s.Rate = float64(s.Generated) / s.Wall
	return s
}

func firstError(results []batchResult) string {
	for _, r := range results {
		if r.Error != "" {
			return fmt.Sprintf("line %d: %s", r.Line, r.Error)
		}
	}
	return ""
}
