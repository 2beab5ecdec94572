package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
)

// speeds is one run of measurements: raw samples, and where they were taken. All
// that is shown follows from them.
type speeds struct {
	Taken       time.Time           `json:"taken"` // UTC, when measuring began
	Environment capture.Environment `json:"environment"`
	Model       string              `json:"model"`
	Threads     int                 `json:"threads"`
	Prompt      int                 `json:"prompt_tokens"`
	// Stream is the bandwidth of memory, in bytes a second, of one core before and
	// after each round: the quickest of some passes.
	Stream [][2]float64 `json:"stream_byte_per_s"`
	Series []series     `json:"series"`
}

// series is one candidate.
type series struct {
	Name     string            `json:"name"`
	Version  string            `json:"version,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	DType    string            `json:"dtype"`
	Weights  int64             `json:"weights_bytes"` // that a decode step reads
	// Gate says how its greedy continuation compared with ours in f32 before anything
	// was timed.
	Gate string `json:"gate"`
	// Seconds are those of each decode step of each round.
	Seconds [][]float64 `json:"seconds"`
}

// nebula is the name of our own series.
const nebula = "Nebula"

// least is the quickest step of each round.
func (s *series) least() []float64 {
	var list []float64
	for _, r := range s.Seconds {
		list = append(list, slices.Min(r))
	}
	return list
}

// share is how much of the bandwidth that memory had in its round the quickest step
// of each round used.
func (c *speeds) share(s *series) []float64 {
	var list []float64
	for i, t := range s.least() {
		list = append(list, float64(s.Weights)/t/max(c.Stream[i][0], c.Stream[i][1]))
	}
	return list
}

// ours is our series in the element type of s.
func (c *speeds) ours(s *series) *series {
	for i := range c.Series {
		if o := &c.Series[i]; o.Name == nebula && o.DType == s.DType {
			return o
		}
	}
	return nil
}

// gain is how many times as fast we are as s: round by round, by the quickest steps.
func (c *speeds) gain(s *series) []float64 {
	ours := c.ours(s).least()
	var list []float64
	for i, t := range s.least() {
		list = append(list, t/ours[i])
	}
	return list
}

// check refuses what no table can be drawn from.
func (c *speeds) check() error {
	if len(c.Series) == 0 || len(c.Stream) == 0 {
		return fmt.Errorf("there are %d series and %d rounds", len(c.Series), len(c.Stream))
	}
	for _, r := range c.Stream {
		if !(r[0] > 0 && r[1] > 0) {
			return fmt.Errorf("a bandwidth of %v bytes a second", r)
		}
	}
	for i := range c.Series {
		s := &c.Series[i]
		if c.ours(s) == nil || s.Weights <= 0 || len(s.Seconds) != len(c.Stream) {
			return fmt.Errorf("the series of %s in %s has %d rounds of %d, %d bytes of weights, or none of ours beside it", s.Name, s.DType, len(s.Seconds), len(c.Stream), s.Weights)
		}
		for _, r := range s.Seconds {
			if len(r) == 0 || !(slices.Min(r) > 0) {
				return fmt.Errorf("a round of %s in %s has no samples, or one that is not positive", s.Name, s.DType)
			}
		}
	}
	return nil
}

// write shows the table, in Markdown.
func (c *speeds) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %d thread, %d tokens before; %d rounds in turn; memory reads %.1f GB/s (%.1f to %.1f)\n\n", c.Model, c.Threads, c.Prompt, len(c.Stream),
		median(c.streams())/1e9, slices.Min(c.streams())/1e9, slices.Max(c.streams())/1e9)
	fmt.Fprintln(w, "| weights | | least | median | tokens/s | of the bandwidth | Nebula is |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|")
	for i := range c.Series {
		s := &c.Series[i]
		all := slices.Concat(s.Seconds...)
		gain := ""
		if s.Name != nebula {
			gain = fmt.Sprintf("%.2fx", median(c.gain(s)))
		}
		fmt.Fprintf(w, "| %s | %s %s | %.1f ms | %.1f ms | %.1f | %.0f %% | %s |\n", s.DType, s.Name, s.Version,
			1e3*slices.Min(all), 1e3*median(all), 1/median(all), 100*median(c.share(s)), gain)
	}
}

func (c *speeds) streams() []float64 {
	var list []float64
	for _, r := range c.Stream {
		list = append(list, max(r[0], r[1]))
	}
	return list
}

// median is the middle of a list, the mean of both where there are two.
func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func readSpeeds(path string) (*speeds, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c speeds
	if err = json.Unmarshal(raw, &c); err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// save writes the capture under its name at once or not at all.
func (c *speeds) save(path string) error {
	if err := c.check(); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func tableCommand() *cobra.Command {
	return &cobra.Command{Use: "table CAPTURE", Short: "Show the table of a capture", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		s, err := readSpeeds(args[0])
		if err == nil {
			s.write(c.OutOrStdout())
		}
		return err
	}}
}
