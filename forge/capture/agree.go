package capture

import (
	"cmp"
	"fmt"

	"forgekernel/display"
)

// Agreement holds the estimates of a capture to those of another one of the same
// programs: a run, and what somebody found who ran it again.
type Agreement struct {
	// Elsewhere says why times are not compared: the captures are of different
	// machines, and which part of them differs. Empty if they are compared.
	Elsewhere string         `json:"elsewhere,omitempty"`
	Rows      []AgreementRow `json:"rows"`

	captures []*Capture
}

// AgreementRow is one stated interval in both captures.
type AgreementRow struct {
	Workload string   `json:"workload"`
	Label    Label    `json:"candidate"`
	Quantity string   `json:"quantity"` // "time" in seconds, "device time", or "ratio" to the first candidate
	First    Estimate `json:"first"`
	Second   Estimate `json:"second"`
	Agrees   bool     `json:"agrees"` // the intervals overlap
}

// Agree compares every stated interval of two captures: of the time of each candidate,
// and of its ratio to the first one. It fails if the captures are not of the same
// programs, inputs, settings and candidates, and names what differs.
func Agree(first, second *Capture) (*Agreement, error) {
	if err := matched(first, second); err != nil {
		return nil, err
	}
	a := &Agreement{captures: []*Capture{first, second}}
	if err := elsewhere(first, second); err != nil {
		a.Elsewhere = err.Error()
		return a, nil
	}
	for i := range first.Workloads {
		if err := a.add(&first.Workloads[i], &second.Workloads[i], first.Settings.Blocks); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Agreement) add(first, second *Workload, blocks int) error {
	for j := range first.Series {
		s, t := &first.Series[j], &second.Series[j]
		if (s.Summary == nil) != (t.Summary == nil) {
			return fmt.Errorf("%s: %v failed in one of the captures: %s", first.Name, s.Label, cmp.Or(s.Error, t.Error))
		}
		if s.Summary == nil {
			continue
		}
		a.row(first.Name, s.Label, "time", s.Estimate(blocks), t.Estimate(blocks))
		if s.Device != nil && t.Device != nil {
			a.row(first.Name, s.Label, "device time", estimate(s.Device, blocks), estimate(t.Device, blocks))
		}
		if base, other := &first.Series[0], &second.Series[0]; j > 0 && base.Summary != nil && other.Summary != nil {
			a.row(first.Name, s.Label, "ratio", s.Over(base, blocks), t.Over(other, blocks))
		}
	}
	return nil
}

func (a *Agreement) row(workload string, l Label, quantity string, first, second Estimate) {
	a.Rows = append(a.Rows, AgreementRow{workload, l, quantity, first, second, first.Agrees(second)})
}

// Disagreeing are the rows whose intervals do not overlap.
func (a *Agreement) Disagreeing() (list []AgreementRow) {
	for _, r := range a.Rows {
		if !r.Agrees {
			list = append(list, r)
		}
	}
	return list
}

// String is "norm, cpu written, 1 thread, time: 1.2 ms (1.1 ms to 1.3 ms), then 2.1 ms (2.0 ms to 2.2 ms)".
func (r AgreementRow) String() string {
	return fmt.Sprintf("%s, %v, %s: %s, then %s", r.Workload, r.Label, r.Quantity, r.text(r.First), r.text(r.Second))
}

func (r AgreementRow) text(e Estimate) string {
	if r.Quantity == "ratio" {
		return fmt.Sprintf("%.3f (%.3f to %.3f)", e.Value, e.Interval.Low, e.Interval.High)
	}
	return formatTime(e.Value) + " (" + formatInterval(e.Interval) + ")"
}

// Table shows the rows.
func (a *Agreement) Table() display.Table {
	t := display.Table{
		Title:   "Two runs",
		Columns: []display.Column{{Name: "workload"}, {Name: "candidate"}, {Name: "quantity"}, right("first run"), right("second run"), {Name: "intervals"}},
	}
	for _, r := range a.Rows {
		verdict := "overlap"
		if !r.Agrees {
			verdict = "are apart"
		}
		t.Rows = append(t.Rows, []any{r.Workload, r.Label.String(), r.Quantity, r.text(r.First), r.text(r.Second), verdict})
	}
	return t
}

// Display shows the table, with both captures.
func (a *Agreement) Display() display.Bundle {
	return carry(display.ToBundle(a.Table()), View{Name: ViewAgreement}, a.captures...)
}
