package capture

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"forgekernel/display"
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
	PNG  []byte // two pixels for each of the SVG's

	workload int // -1 for all of them
}

// Figures draws, for each workload, the distribution of its samples and its
// memory plan, and then the roofline of all of them, as far as they were measured.
func (r *Report) Figures() ([]Figure, error) {
	var list []Figure
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		if w.timed() {
			f, err := figure(w.distribution(), figureName(i, w.Name, distribution), i)
			if err != nil {
				return nil, err
			}
			list = append(list, f)
		}
		timeline := r.plans[i].Timeline()
		svg, err := timeline.SVG()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		image, _ := timeline.Display().Data["image/png"].([]byte)
		list = append(list, Figure{figureName(i, w.Name, memoryPlan), "Memory plan of " + w.Name, svg, image, i})
	}
	if d := r.roofline(); d != nil {
		f, err := figure(d, roofline, -1)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

func figure(d drawing, name string, workload int) (Figure, error) {
	image, err := pngOf(d)
	return Figure{name, d.title(), svgOf(d), image, workload}, err
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

// Plot is the distribution of the samples of a workload as a picture and, for
// terminals, as text.
func (w *Workload) Plot() (display.Bundle, error) {
	if !w.timed() {
		return display.Bundle{}, fmt.Errorf("%s: no candidate has samples", w.Name)
	}
	d := w.distribution()
	image, err := pngOf(d)
	if err != nil {
		return display.Bundle{}, err
	}
	return display.Bundle{
		Data:     map[string]any{"image/svg+xml": svgOf(d), "image/png": image, "text/plain": w.boxes()},
		Metadata: map[string]any{"image/png": map[string]any{"width": int(d.width / pixel), "height": int(d.height / pixel)}},
	}, nil
}

// drawing is a plot of this package.
type drawing interface {
	title() string
	size() (w, h vg.Length)
	paint(draw.Canvas)
}

// drawOn draws on white.
func drawOn(c vg.CanvasSizer, d drawing) {
	all := draw.New(c)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	d.paint(all)
}

func svgOf(d drawing) string {
	w, h := d.size()
	s := newSVG(w, h, d.title())
	drawOn(s, d)
	return s.document()
}

// pngOf draws two pixels for each of the SVG's.
func pngOf(d drawing) ([]byte, error) {
	w, h := d.size()
	image := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(192))
	drawOn(image, d)
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: image}.WriteTo(&b)
	return b.Bytes(), err
}
