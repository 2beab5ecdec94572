package capture

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
)

// Comparison is two captures, or two candidates of one, side by side.
type Comparison struct {
	Old  string          `json:"old"` // what the sides are
	New  string          `json:"new"`
	Rows []ComparisonRow `json:"rows"`

	view     View
	captures []*Capture
}

// ComparisonRow compares two series of one workload. Times are in seconds.
type ComparisonRow struct {
	Workload string  `json:"workload"`
	Old      Label   `json:"old"`
	New      Label   `json:"new"`
	OldTime  float64 `json:"old_median_s"`
	NewTime  float64 `json:"new_median_s"`
	// Ratio is new over old, less than 1 where new is faster, and Interval its
	// confidence interval (95 %): see [Estimate].
	Ratio    float64  `json:"ratio"`
	Interval Interval `json:"interval"`
	Verdict  Verdict  `json:"verdict"`
}

// Compare compares the series of two captures one by one. It refuses captures of
// different hardware, settings, programs, inputs or candidates, and names what
// differs.
func Compare(old, new *Capture) (*Comparison, error) {
	if err := cmp.Or(elsewhere(old, new), matched(old, new)); err != nil {
		return nil, err
	}
	c := &Comparison{Old: old.ID, New: new.ID, view: View{Name: ViewComparison}, captures: []*Capture{old, new}}
	for i := range old.Workloads {
		for j := range old.Workloads[i].Series {
			if err := c.add(old.Workloads[i].Name, &old.Workloads[i].Series[j], &new.Workloads[i].Series[j], old.Settings.Blocks, false); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// Sides compares two candidates of one capture in every workload.
func Sides(c *Capture, old, new Side) (*Comparison, error) {
	out := &Comparison{Old: old.String(), New: new.String(), captures: []*Capture{c}}
	out.view = View{ViewSides, []string{out.Old, out.New}}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		a, err := old.of(w)
		if err != nil {
			return nil, err
		}
		b, err := new.of(w)
		if err != nil {
			return nil, err
		}
		if err := out.add(w.Name, a, b, c.Settings.Blocks, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Gain compares each program as written with the optimised one, wherever both ran on one
// backend with as many threads: the ratio of their times, its interval, and the verdict.
func (r *Report) Gain() (*Comparison, error) {
	out := &Comparison{Old: string(Written), New: string(Optimised), view: View{Name: ViewGain}, captures: []*Capture{r.capture}}
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		for j := range w.Series {
			was := w.Series[j].Label
			was.Variant = Written
			k := slices.IndexFunc(w.Series, func(s Series) bool { return s.Label == was })
			if w.Series[j].Variant != Optimised || k < 0 {
				continue
			}
			if err := out.add(w.Name, &w.Series[k], &w.Series[j], r.capture.Settings.Blocks, true); err != nil {
				return nil, err
			}
		}
	}
	if len(out.Rows) == 0 {
		return nil, errors.New("no program was measured both as written and optimised")
	}
	return out, nil
}

// add compares two series. Samples of equal rounds of one capture belong
// together: what disturbs one disturbs the other.
func (c *Comparison) add(workload string, old, new *Series, blocks int, together bool) error {
	for _, s := range []*Series{old, new} {
		if s.Summary == nil {
			return fmt.Errorf("%s: %v has no samples: %s", workload, s.Label, s.Error)
		}
	}
	ratio := over(old.Wall, new.Wall, blocks, together)
	c.Rows = append(c.Rows, ComparisonRow{
		Workload: workload, Old: old.Label, New: new.Label, OldTime: old.Estimate(blocks).Value, NewTime: new.Estimate(blocks).Value,
		Ratio: ratio.Value, Interval: ratio.Interval, Verdict: ratio.verdict(),
	})
	return nil
}

// ratioInterval is the confidence interval of the ratio of two medians. Samples
// that belong together are drawn together.
func ratioInterval(old, new []float64, together bool) Interval {
	a, b := make([]float64, len(old)), make([]float64, len(new))
	return bootstrap(func(rng *rand.Rand) float64 {
		for i := range a {
			k := rng.IntN(len(old))
			a[i] = old[k]
			if together {
				b[i] = new[k]
			}
		}
		if !together {
			for i := range b {
				b[i] = new[rng.IntN(len(new))]
			}
		}
		return medianOf(b) / medianOf(a)
	})
}

// elsewhere names the first field in which the machines of two captures differ, or what
// they ran beside our programs.
func elsewhere(old, new *Capture) error {
	return cmp.Or(
		old.Environment.matched(&new.Environment),
		differ("the peers", peerText(&old.Environment), peerText(&new.Environment)),
	)
}

// matched names the first field in which two captures are not of the same
// measurement.
func matched(old, new *Capture) error {
	if err := cmp.Or(
		differ("the number of samples", old.Settings.Samples, new.Settings.Samples),
		differ("the runs of warm-up", old.Settings.Warmup, new.Settings.Warmup),
		differ("the seed", old.Settings.Seed, new.Settings.Seed),
		differ("the shortest sample", old.Settings.MinSample, new.Settings.MinSample),
		differ("the time for samples", old.Settings.Budget, new.Settings.Budget),
		differ("the number of blocks", old.Settings.Blocks, new.Settings.Blocks),
		differ("the time that blocks are spread over", old.Settings.Spread, new.Settings.Spread),
		differ("the number of workloads", len(old.Workloads), len(new.Workloads)),
	); err != nil {
		return err
	}
	for i := range old.Workloads {
		if err := old.Workloads[i].matched(&new.Workloads[i]); err != nil {
			return err
		}
	}
	return nil
}

// matched names the first field in which two machines differ.
func (e *Environment) matched(other *Environment) error {
	return cmp.Or(
		differ("the processor", e.CPU, other.CPU),
		differ("the instruction sets", strings.Join(e.ISA, " "), strings.Join(other.ISA, " ")),
		differ("the number of cores", e.Cores, other.Cores),
		differ("GOMAXPROCS", e.GoThreads, other.GoThreads),
		differ("the platform", e.Platform, other.Platform),
		differ("the GPUs", strings.Join(e.GPUs, ", "), strings.Join(other.GPUs, ", ")),
		differ("the environment variables", pairs(e.Variables), pairs(other.Variables)),
	)
}

// peerText is all that is known of the peers, in one line.
func peerText(e *Environment) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e.Peers)) {
		list = append(list, name+": "+pairs(e.Peers[name]))
	}
	return strings.Join(list, "; ")
}

func (w *Workload) matched(other *Workload) error {
	if err := cmp.Or(
		differ("the workload", w.Name, other.Name),
		differ(w.Name+": the program as written", w.Written, other.Written),
		differ(w.Name+": the number of candidates", len(w.Series), len(other.Series)),
	); err != nil {
		return err
	}
	for i := range w.Inputs { // as many as the program, which is the same, has
		if err := differ(w.Name+": the input "+w.Inputs[i].Name, w.Inputs[i].SHA256, other.Inputs[i].SHA256); err != nil {
			return err
		}
	}
	for i := range w.Series {
		if err := differ(w.Name+": the candidate", w.Series[i].Label, other.Series[i].Label); err != nil {
			return err
		}
	}
	return nil
}

func differ[T comparable](what string, old, new T) error {
	if old == new {
		return nil
	}
	return fmt.Errorf("the captures cannot be compared: %s differs: %v and %v", what, old, new)
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, " ")
}

// Side selects one candidate of a workload. Zero fields select any.
type Side struct {
	Backend string
	Variant Variant
	Threads int
}

// ParseSide reads "backend", "backend:variant" or "backend:variant:threads".
func ParseSide(text string) (Side, error) {
	parts := strings.Split(text, ":")
	s := Side{Backend: parts[0]}
	if s.Backend == "" || len(parts) > 3 {
		return Side{}, fmt.Errorf("%q is no candidate; write BACKEND, BACKEND:VARIANT or BACKEND:VARIANT:THREADS", text)
	}
	if len(parts) > 1 {
		if s.Variant = Variant(parts[1]); !s.Variant.known() {
			return Side{}, fmt.Errorf("%q: a variant is %s, %s or %s", text, Written, Optimised, Peer)
		}
	}
	if len(parts) > 2 {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 1 {
			return Side{}, fmt.Errorf("%q: %q is not a number of threads", text, parts[2])
		}
		s.Threads = n
	}
	return s, nil
}

// String is the text that [ParseSide] reads.
func (s Side) String() string {
	text := s.Backend
	if s.Variant != "" {
		text += ":" + string(s.Variant)
	}
	if s.Threads > 0 {
		text += ":" + strconv.Itoa(s.Threads)
	}
	return text
}

// of is the one series that a side selects.
func (s Side) of(w *Workload) (*Series, error) {
	var found *Series
	for i := range w.Series {
		l := w.Series[i].Label
		if l.Backend != s.Backend || s.Variant != "" && l.Variant != s.Variant || s.Threads != 0 && l.Threads != s.Threads {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: %v is both %v and %v; say which", w.Name, s, found.Label, l)
		}
		found = &w.Series[i]
	}
	if found == nil {
		labels := make([]string, len(w.Series))
		for i := range w.Series {
			labels[i] = w.Series[i].Label.String()
		}
		return nil, fmt.Errorf("%s: no candidate is %v; there are %s", w.Name, s, strings.Join(labels, "; "))
	}
	return found, nil
}

// Table shows the rows.
func (c *Comparison) Table() display.Table {
	t := display.Table{
		Title:   "old " + c.Old + ", new " + c.New,
		Columns: []display.Column{{Name: "workload"}, {Name: "candidate"}, right("old"), right("new"), right("new / old"), right("interval"), {Name: "new is"}},
	}
	for _, r := range c.Rows {
		who := r.New.String()
		if r.Old != r.New {
			who = r.Old.String() + " → " + who
		}
		t.Rows = append(t.Rows, []any{
			r.Workload, who, formatTime(r.OldTime), formatTime(r.NewTime), fmt.Sprintf("%.3f", r.Ratio),
			fmt.Sprintf("%.3f to %.3f", r.Interval.Low, r.Interval.High), string(r.Verdict),
		})
	}
	return t
}

// Display shows the table, with the captures that it follows from.
func (c *Comparison) Display() display.Bundle {
	return carry(display.ToBundle(c.Table()), c.view, c.captures...)
}
