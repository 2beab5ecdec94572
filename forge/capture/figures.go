package capture

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
)

// Kinds of figures.
const (
	distribution = "distribution"
	memoryPlan   = "memory"
	roofline     = "roofline"
)

// Figure is a drawing of a part of a capture.
type Figure struct {
	Name string // of its files, without the extension
	Text string // what it shows, in a few words
	SVG  string
	HTML string // the SVG as an image
	PNG  []byte // two pixels for each of the SVG's

	workload int // -1 for all of them
}

// Figures draws, for each workload, the distribution of its samples and its
// memory plan, and then the roofline of all of them, as far as they were measured and
// there is memory to plan.
func (r *Report) Figures() ([]Figure, error) {
	var list []Figure
	add := func(f chart.Figure, name string, workload int) error {
		svg, err := f.SVG()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Title, err)
		}
		image, err := f.HTML()
		if err != nil {
			return err
		}
		png, err := f.PNG()
		list = append(list, Figure{name, f.Title, svg, image, png, workload})
		return err
	}
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		if w.timed() {
			if err := add(w.distribution(), figureName(i, w.Name, distribution), i); err != nil {
				return nil, err
			}
		}
		if r.plans[i].Naive == 0 { // nothing stands in memory between kernels
			continue
		}
		if err := add(r.plans[i].Chart(), figureName(i, w.Name, memoryPlan), i); err != nil {
			return nil, err
		}
	}
	if f, drawn := r.Roofline(); drawn {
		if err := add(f.Figure, roofline, -1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Distribution is that of the samples of a workload.
func (r *Report) Distribution(workload string) (Drawing, error) {
	for i := range r.capture.Workloads {
		if w := &r.capture.Workloads[i]; w.Name == workload {
			if !w.timed() {
				return Drawing{}, fmt.Errorf("%s: no candidate has samples", w.Name)
			}
			return Drawing{w.distribution(), View{ViewDistribution, []string{workload}}, r.capture}, nil
		}
	}
	return Drawing{}, fmt.Errorf("the capture has no workload %q", workload)
}

// distribution is that of at least one series with samples.
func (w *Workload) distribution() chart.Figure {
	return chart.Distribution("Distribution of samples of "+w.Name, "time per run, up to the 95 % quantile", chart.Seconds, w.samples()...)
}

func (w *Workload) samples() (list []chart.Sample) {
	for _, s := range w.Series {
		if s.Summary != nil {
			list = append(list, chart.Sample{Name: s.Label.String(), Values: s.Wall})
		}
	}
	return list
}

// boxes draws the samples of a workload with characters, in lines of width; nothing if
// there are none.
func (w *Workload) boxes(width int) string {
	if !w.timed() {
		return ""
	}
	text, _ := chart.Box("", "time per run", chart.Seconds, w.samples()...).Figure().PlainWithin(width) // finite samples can be drawn
	return text + lines("boxes from 25 to 75 % with the median, whiskers from 5 to 95 %", width)
}

// Roofline shows every candidate of the processor by the work that its program does for
// each byte it has to move, and the work that it does each second, under what one core of
// the machine does at most, and under as many as it has threads. It is false if the limits
// were not measured or nothing ran.
func (r *Report) Roofline() (Drawing, bool) {
	limits := r.capture.Environment.Limits
	if limits == nil || limits.FLOPs == 0 {
		return Drawing{}, false
	}
	roofs, of := []chart.Roof{limits.Roof()}, map[int]int{1: 0}
	var works []chart.Work
	list := labels(r.capture.Workloads)
	for _, w := range r.capture.Workloads {
		for _, s := range w.Series {
			if s.Summary == nil || s.Device != nil || w.FLOPs == 0 || w.Bytes == 0 {
				continue
			}
			over, known := of[s.Threads]
			if !known {
				over = len(roofs)
				of[s.Threads] = over
				roofs = append(roofs, roofs[0].Times(s.Threads, display.Count(s.Threads, "core")))
			}
			works = append(works, chart.Work{Name: w.Name, Series: shortName(s.Label, list), FLOPs: float64(w.FLOPs), Bytes: float64(w.Bytes), Seconds: s.Summary.Median, Roof: over})
		}
	}
	figure := chart.Roofline("Median runs under the roof of one core", roofs, works)
	return Drawing{figure, View{Name: ViewRoofline}, r.capture}, len(works) > 0
}

// shortName is a label, without the number of threads where all have one.
func shortName(l Label, list []Label) string {
	if slices.ContainsFunc(list, func(l Label) bool { return l.Threads != 1 }) {
		return l.String()
	}
	return strings.TrimSuffix(l.String(), ", 1 thread")
}

// figureName is safe as the name of a file, whatever a capture calls a workload.
func figureName(i int, workload, kind string) string {
	safe := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '-'
	}, workload)
	return fmt.Sprintf("%02d-%.60s-%s", i+1, safe, kind)
}

// File is a part of a report in a folder.
type File struct {
	Name    string // without a folder
	Content []byte
}

// Files are report.md and report.html with the figures that they show.
func (r *Report) Files() ([]File, error) {
	page, err := r.HTML()
	if err != nil {
		return nil, err
	}
	figures, err := r.Figures()
	if err != nil {
		return nil, err
	}
	files := []File{{"report.md", []byte(r.Markdown())}, {"report.html", []byte(page)}}
	for _, f := range figures {
		files = append(files, File{f.Name + ".svg", []byte(f.SVG)})
		if len(f.PNG) > 0 {
			files = append(files, File{f.Name + ".png", f.PNG})
		}
	}
	return files, nil
}
