package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// event is one entry of the Chrome trace event format; times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    *float64       `json:"ts,omitempty"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteChrome writes ranks as one Chrome trace on the clock of rank 0: a process per
// rank and a thread per lane. Regions with one flow number are linked by arrows from
// the rank that sends, or else began first, to the others.
func WriteChrome(w io.Writer, ranks ...Rank) error {
	buffered := bufio.NewWriter(w)
	if _, err := buffered.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`); err != nil {
		return err
	}
	first := true
	var failed error
	put := func(e event) {
		raw, err := json.Marshal(e)
		if err == nil && !first {
			err = buffered.WriteByte(',')
		}
		if err == nil {
			_, err = buffered.Write(append([]byte{'\n'}, raw...))
		}
		if failed == nil {
			failed = err
		}
		first = false
	}
	for _, r := range ranks {
		r.name(put)
		for _, g := range r.Regions {
			put(r.complete(g))
		}
	}
	flows(ranks, put)
	if failed != nil {
		return failed
	}
	if _, err := buffered.WriteString("\n]}\n"); err != nil {
		return err
	}
	return buffered.Flush()
}

// name gives the rows of a rank their labels and order.
func (r Rank) name(put func(event)) {
	label := fmt.Sprintf("rank %d, stage %d", r.Rank, r.Stage)
	args := map[string]any{"name": label, "clock_error_ns": r.Error.Nanoseconds(), "lost_regions": r.Lost}
	put(event{Name: "process_name", Phase: "M", PID: r.Rank, Args: args})
	put(event{Name: "process_sort_index", Phase: "M", PID: r.Rank, Args: map[string]any{"sort_index": r.Rank}})
	for l := range lanes {
		put(event{Name: "thread_name", Phase: "M", PID: r.Rank, TID: int(l), Args: map[string]any{"name": l.String()}})
	}
}

// complete is a region as one event.
func (r Rank) complete(g Region) event {
	e := event{Name: g.Name, Cat: g.Kind.String(), Phase: "X", PID: r.Rank, TID: int(g.Lane), TS: r.micros(g.Start), Args: map[string]any{}}
	if e.Name == "" {
		e.Name = g.Kind.String()
	}
	length := float64(g.End-g.Start) / 1e3
	e.Dur = &length
	if g.Step > 0 {
		e.Args["step"] = g.Step
	}
	return e
}

// micros is a time of this rank on the clock of rank 0.
func (r Rank) micros(t time.Duration) *float64 {
	us := float64(t-r.Offset) / 1e3
	return &us
}

// flows writes the arrows. An arrow binds to the region that encloses its time, so
// that one between points inside is safe against rounding.
func flows(ranks []Rank, put func(event)) {
	type end struct {
		rank Rank
		Region
	}
	var order []uint64
	parts := make(map[uint64][]end)
	for _, r := range ranks {
		for _, g := range r.Regions {
			if g.Flow == 0 {
				continue
			}
			if parts[g.Flow] == nil {
				order = append(order, g.Flow)
			}
			parts[g.Flow] = append(parts[g.Flow], end{r, g})
		}
	}
	for _, id := range order {
		list := parts[id]
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b end) int {
			if sends := a.Kind == Send; sends != (b.Kind == Send) {
				return map[bool]int{true: -1, false: 1}[sends]
			}
			return cmp.Compare(a.Start-a.rank.Offset, b.Start-b.rank.Offset)
		})
		for i, p := range list {
			phase := "t"
			switch i {
			case 0:
				phase = "s"
			case len(list) - 1:
				phase = "f"
			}
			middle := p.Start + (p.End-p.Start)/2
			put(event{Name: list[0].Name, Cat: p.Kind.String(), Phase: phase, PID: p.rank.Rank, TID: int(p.Lane), TS: p.rank.micros(middle), ID: fmt.Sprintf("%#x", id), Bind: "e"})
		}
	}
}
