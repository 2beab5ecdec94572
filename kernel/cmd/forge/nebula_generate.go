package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge/textfile"
	"forgekernel/nebula"
	"forgekernel/nebula/sample"
)

// sampling are the flags that say how tokens are chosen.
type sampling struct {
	sample.Params
	ignoreEnd bool
}

func (s *sampling) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&s.MaxTokens, "max-tokens", "n", 128, "tokens to generate at most; 0: until the context is full")
	f.Float64Var(&s.Temperature, "temperature", 0, "draw tokens by their probability, flatter the higher it is; 0 takes the likeliest")
	f.IntVar(&s.TopK, "top-k", 0, "draw among so many likeliest tokens; 0: all")
	f.Float64Var(&s.TopP, "top-p", 0, "draw among the fewest likeliest tokens that have this probability together; 0: all")
	f.Float64Var(&s.MinP, "min-p", 0, "draw among tokens that have this share of the likeliest one's probability; 0: all")
	f.Float64Var(&s.RepetitionPenalty, "repetition-penalty", 0, "above 1 makes tokens that occurred less likely; 0: none")
	f.Uint64Var(&s.Seed, "seed", 0, "seed of the draws: one seed, one text")
	f.StringArrayVar(&s.Stop, "stop", nil, "a text before which the generation ends; may be repeated")
	f.IntVar(&s.LogProbs, "logprobs", 0, "log-probabilities of each token and of so many likeliest ones")
	f.BoolVar(&s.ignoreEnd, "ignore-eos", false, "go on behind the tokens with which the model ends a text")
}

// options are the same choices as nebula takes them.
func (s *sampling) options() []nebula.RequestOption {
	p := s.Params
	list := []nebula.RequestOption{
		nebula.MaxTokens(p.MaxTokens), nebula.Temperature(p.Temperature), nebula.TopK(p.TopK), nebula.TopP(p.TopP), nebula.MinP(p.MinP),
		nebula.RepetitionPenalty(p.RepetitionPenalty), nebula.Seed(p.Seed), nebula.Stop(p.Stop...), nebula.LogProbs(p.LogProbs),
	}
	if s.ignoreEnd {
		list = append(list, nebula.StopTokens())
	}
	return list
}

// generation are the flags of the command that continues a prompt.
type generation struct {
	decoder
	sampling
	prompt string
	file   string
	ids    string
	asJSON bool
}

func nebulaGenerateCommand() *cobra.Command {
	g := new(generation)
	cmd := &cobra.Command{
		Use:   "generate --model MODEL --prompt TEXT [--tp 2 --pp 2]",
		Short: "Continue a prompt, and print the text as it comes",
		Long: `Generate continues a prompt on the ranks of a job. Text goes to standard output as it
comes, and what it took to standard error. Without a launcher the command starts
its ranks itself; under torchrun, srun or mpirun every rank runs this same command.
A model made from a seed has bytes for tokens.`,
		Example: `  forge nebula generate --model tiny --prompt "Once upon a time" --max-tokens 32 --tp 2`,
		Args:    noArguments,
		RunE: stoppableRanks(func(cmd *cobra.Command, _ []string) error {
			if err := g.check(cmd); err != nil {
				return usageError{err}
			}
			m, err := g.open(1, 1, defaultContext)
			if err != nil {
				return err
			}
			return g.lead(cmd, m, func(ctx context.Context, l *led) error { return g.run(ctx, cmd, l) })
		}),
	}
	g.decoder.flags(cmd)
	g.sampling.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&g.prompt, "prompt", "p", "", "text to continue")
	f.StringVar(&g.file, "prompt-file", "", "file of the text to continue")
	f.StringVar(&g.ids, "ids", "", "tokens to continue, as numbers: 1,2,3; the new ones are printed as numbers, too")
	jsonFlag(cmd, &g.asJSON)
	return cmd
}

func (g *generation) check(cmd *cobra.Command) error {
	given := 0
	for _, name := range []string{"prompt", "prompt-file", "ids"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	if given != 1 {
		return errors.New("give one of --prompt, --prompt-file and --ids")
	}
	if g.ids != "" {
		if _, err := parseIDs(g.ids); err != nil {
			return err
		}
	}
	return g.Params.Check()
}

// maxPromptFile bounds the file of a prompt, in bytes.
const maxPromptFile = 8 << 20

// tokens are those of the prompt.
func (g *generation) tokens(m *nebula.Model) ([]int32, error) {
	text := g.prompt
	switch {
	case g.ids != "":
		return parseIDs(g.ids)
	case g.file != "":
		raw, err := readBounded(g.file, maxPromptFile)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	return m.Encode(text)
}

func parseIDs(text string) ([]int32, error) {
	var list []int32
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--ids takes numbers such as 1,2,3, not %q", field)
		}
		list = append(list, int32(n))
	}
	return list, nil
}

// standard is the name of standard input and output.
const standard = "-"

// readBounded reads the text of a file, or of standard input, of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	if path != standard {
		return textfile.Read(path, most)
	}
	raw, err := io.ReadAll(io.LimitReader(os.Stdin, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(raw)) > most:
		return nil, fmt.Errorf("standard input has more than %d bytes", most)
	}
	if raw, err = textfile.Decode(raw); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return raw, nil
}

// generated is the continuation for a program to read.
type generated struct {
	Text     string          `json:"text"`
	IDs      []int32         `json:"ids"`
	LogProbs []chosen        `json:"logprobs,omitempty"`
	Finish   string          `json:"finish"` // "stop", "length", ...
	Usage    generationUsage `json:"usage"`
}

// chosen is a token and the likeliest ones in its place.
type chosen struct {
	ID      int32      `json:"id"`
	LogProb float64    `json:"logprob"`
	Top     []likeness `json:"top"`
}

type likeness struct {
	ID      int32   `json:"id"`
	LogProb float64 `json:"logprob"`
}

// generationUsage is what a continuation took.
type generationUsage struct {
	Prompt    int     `json:"prompt_tokens"`
	Cached    int     `json:"cached_tokens"`
	Generated int     `json:"generated_tokens"`
	First     float64 `json:"first_token_s"`
	PerToken  float64 `json:"per_token_s"` // after the first; 0 for one
}

func newGenerated(c nebula.Completion) generated {
	g := generated{Text: c.Text, IDs: c.Tokens, Finish: c.Reason.String(), Usage: generationUsage{
		Prompt: c.Usage.Prompt, Cached: c.Usage.Cached, Generated: len(c.Tokens),
		First: c.Usage.TimeToFirst().Seconds(), PerToken: c.Usage.PerToken().Seconds(),
	}}
	if g.IDs == nil {
		g.IDs = []int32{}
	}
	for _, p := range c.LogProbs {
		k := chosen{ID: p.Token, LogProb: p.LogProb}
		for _, t := range p.Top {
			k.Top = append(k.Top, likeness{t.Token, t.LogProb})
		}
		g.LogProbs = append(g.LogProbs, k)
	}
	return g
}

func (g *generation) run(ctx context.Context, cmd *cobra.Command, l *led) error {
	prompt, err := g.tokens(l.model)
	if err != nil {
		return err
	}
	j, err := nebula.Joined(l.model, l.spec, l.Local)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	c, err := nebula.Collect(func(yield func(nebula.Piece, error) bool) {
		for p, err := range j.GenerateIDs(ctx, prompt, g.options()...) {
			if !g.asJSON && g.print(out, p) != nil { // nobody reads it: stop
				return
			}
			if !yield(p, err) {
				return
			}
		}
	})
	if g.asJSON && err == nil {
		return printJSON(out, newGenerated(c))
	}
	if !g.asJSON && len(c.Tokens) > 0 {
		fmt.Fprintln(out)
		g.explain(cmd.ErrOrStderr(), l, c)
	}
	return err
}

// print writes what is new of a continuation: text, or numbers where there is none.
func (g *generation) print(w io.Writer, p nebula.Piece) error {
	text := p.Text
	if g.ids != "" {
		text = ""
		if p.Token >= 0 {
			text = strconv.Itoa(int(p.Token)) + " "
		}
	}
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}

// explain says what a continuation took.
func (g *generation) explain(w io.Writer, l *led, c nebula.Completion) {
	for _, k := range c.LogProbs {
		fmt.Fprintf(w, "%s %.4f:", spelled(l.model, k.Token), k.LogProb)
		for _, t := range k.Top {
			fmt.Fprintf(w, "  %s %.4f", spelled(l.model, t.Token), t.LogProb)
		}
		fmt.Fprintln(w)
	}
	u := c.Usage
	fmt.Fprintf(w, "%s after %d, ended by %v; first after %v, then %.4g tokens/s; %v, %v, %s each, %s\n",
		display.Count(len(c.Tokens), "token"), u.Prompt, c.Reason, u.TimeToFirst().Round(10*time.Microsecond), c.Rate(), g.spec.Layout, g.spec.Engine.DType, display.Count(l.threads, "thread"), l.ranks.Launcher)
}

// spelled is a token as a person may know it.
func spelled(m *nebula.Model, id int32) string {
	if m.Tokenizer() == nil {
		return strconv.Itoa(int(id))
	}
	return strconv.Quote(string(m.Tokenizer().Token(id)))
}
