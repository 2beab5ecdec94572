package cpu

import (
	"fmt"
	"math"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// windowing is how a convolution is cut. A register tile is some channels by some
// vectors of pixels, which are neighbours in one or more lines. A line is a row of
// results; where rows are much shorter than a vector, all rows of an image are one
// line, with the pixels of the padding between them computed for nothing.
//
// The input of a band of lines is first copied, with its padding, into a scratch
// array in which neighbouring outputs read neighbouring elements whatever the
// stride: columns with the same remainder by it stand together, and rows too.
type windowing struct {
	channels, lines, vectors int  // of a register tile
	flat                     bool // an image is one line
	shared                   bool // lines of a tile share the rows that they read
	band                     int  // rows of results of a band
	width                    int  // vectors of a line of a band
	// The scratch array: a plane for each input channel, of phases by rows by pitch.
	rows, pitch, plane int
	exact              bool // weights are not finite: taps in the padding must be left out
	finite             bool // weights are known to be finite
}

// Forms of a convolution in schedules: lines of images are cut one by one, or those
// of an image form one.
const (
	lineForm = "lines"
	flatForm = "flat"
)

const (
	// bandBytes is how much scratch a band may use when it has several lines: half
	// of a second cache of half a MiB. A band of one tile may use up to scratchBytes
	// of the stack.
	bandBytes    = 256 << 10
	scratchBytes = 2 << 20
	// flatBytes is how much an image may use that is one line: all of it is there at
	// once, and short rows that go through vectors one by one cost more than a second
	// cache that it does not fit.
	flatBytes = 768 << 10
)

// scratch is the number of elements of the scratch array. The last vector of a line
// reads up to one beyond its planes.
func (w windowing) scratch(t Target, c *loop.Convolution) int { return c.Inputs*w.plane + t.Lanes }

// windowingFor picks what a schedule leaves open: the register tile with the least
// estimated time, among lines that are rows and images that are lines, and the
// largest band.
func (t Target) windowingFor(c *loop.Convolution, want Schedule) windowing {
	registers := t.Registers
	if c.Elem == tensor.F64 {
		registers = 16
	}
	tiles := shapes[registers]
	if t.shares(c) {
		tiles = append(sharedShapes[registers], tiles...)
	}
	if want.Rows > 0 {
		tiles = [][2]int{{want.Rows, want.Vectors}}
	}
	best, least := windowing{}, math.MaxInt
	for _, flat := range []bool{false, true} {
		if want.Form != "" && (want.Form == flatForm) != flat {
			continue
		}
		for _, s := range tiles {
			w := windowing{channels: even(c.Outputs, s[0]).large, flat: flat, band: c.V.Out}
			count, length := w.grid(t, c)
			if w.layOut(t, c); flat && max(4, c.Elem.Size())*w.scratch(t, c) > flatBytes {
				continue
			}
			if cost := w.split(t, c, s[1], count, length); cost < least {
				best, least = w, cost
			}
		}
	}
	if least == math.MaxInt { // what is wanted does not fit the scratch array
		return t.windowingFor(c, Schedule{})
	}
	best.cut(t, c)
	if want.Rows > 0 && max(4, c.Elem.Size())*best.scratch(t, c) > scratchBytes {
		return t.windowingFor(c, Schedule{})
	}
	return best
}

// schedule is the cut as a schedule.
func (w windowing) schedule() Schedule {
	s := Schedule{Form: lineForm, Rows: w.channels, Vectors: w.lines * w.vectors}
	if w.flat {
		s.Form = flatForm
	}
	return s
}

// grid is the number of lines of an image and the vectors of each.
func (w windowing) grid(t Target, c *loop.Convolution) (lines, vectors int) {
	if w.flat {
		return 1, t.vectors((c.V.Out-1)*w.flatPitch(c) + c.H.Out)
	}
	return c.V.Out, t.vectors(c.H.Out)
}

// flatPitch is the distance between rows that form one line.
func (w windowing) flatPitch(c *loop.Convolution) int {
	return c.H.Out + (c.H.Taps-1)*c.H.Dilation/c.H.Stride
}

// split cuts the pixels of a tile, so many vectors, into lines, and returns the
// estimated time.
func (w *windowing) split(t Target, c *loop.Convolution, pixels, count, length int) int {
	w.vectors = min(pixels, length)
	w.lines = min(pixels/w.vectors, count)
	least := w.cost(c, count, length)
	if w.flat || !t.shares(c) {
		return least
	}
	best := *w
	w.shared = true
	for w.lines = 2; w.lines <= min(pixels, count); w.lines++ {
		w.vectors = min(pixels/w.lines, length)
		if cost := w.cost(c, count, length); cost < least {
			best, least = *w, cost
		}
	}
	*w = best
	return least
}

// sharedShapes are further register tiles of one channel, whose lines share what
// they read.
var sharedShapes = map[int][][2]int{
	32: {{1, 12}, {1, 15}, {1, 10}, {1, 6}},
	16: {{1, 6}, {1, 7}},
}

// sharedTaps bounds the taps that are written out for each line.
const sharedTaps = 49

// shares reports whether the lines of a tile share rows of the input: where a tile
// has one channel, it is bound by what it reads.
// Without fused multiply-adds in hardware they would be too much code.
func (t Target) shares(c *loop.Convolution) bool {
	return t.Name != base.Name && c.Outputs == 1 && c.V.Stride < c.V.Taps && c.V.Dilation == 1 && c.V.Taps*c.H.Taps <= sharedTaps
}

// whole reports whether a tile has all lines of an image, so that its place in the
// padding is known.
func (w windowing) whole(c *loop.Convolution) bool { return !w.flat && w.lines >= c.V.Out }

// tap estimates half cycles of a tap of a tile: two multiply-adds a cycle, and no less
// than their latency. Vectors of one channel are each read for one product, across
// the border of two lines of the cache, unless lines of the tile share them.
func (w windowing) tap(c *loop.Convolution, channels, lines, vectors int) int {
	nv := lines * vectors
	loads := channels + nv
	switch {
	case c.Outputs > 1:
	case w.shared:
		loads = lines + (2*vectors*c.V.Span(lines)+c.V.Taps-1)/c.V.Taps
	default:
		loads = 1 + 2*nv
	}
	return 1 + max(channels*nv, loads, minChains)
}

// cost estimates half cycles for each tap of an image, as that of a product does.
// Rows that form one line pass through an array of their own when they are stored.
func (w windowing) cost(c *loop.Convolution, lines, vectors int) int {
	channels := even(c.Outputs, w.channels)
	sum := 0
	for ; lines > 0; lines -= w.lines {
		for left := vectors; left > 0; left -= w.vectors {
			rows, columns := min(lines, w.lines), min(left, w.vectors)
			sum += channels.first*w.tap(c, channels.large, rows, columns) +
				(channels.count-channels.first)*w.tap(c, channels.large-1, rows, columns)
		}
	}
	if w.flat {
		sum += sum / 8
	}
	return sum
}

// checkScratch refuses convolutions whose scratch array is beyond the bound.
func (t Target) checkScratch(kernels []*loop.Kernel) error {
	for _, k := range kernels {
		c := k.Convolution
		if c == nil {
			continue
		}
		if bytes := max(4, c.Elem.Size()) * t.windowingFor(c, Schedule{}).scratch(t, c); bytes > scratchBytes {
			return fmt.Errorf("the %d channels of its images need %d KiB of scratch; the limit is %d KiB", c.Inputs, bytes>>10, scratchBytes>>10)
		}
	}
	return nil
}

// cut decides the band and lays out the scratch array.
func (w *windowing) cut(t Target, c *loop.Convolution) {
	size := max(4, c.Elem.Size())
	lines, vectors := w.grid(t, c)
	w.width = vectors
	if w.flat {
		w.band = c.V.Out
		w.layOut(t, c)
		return
	}
	for w.band = (lines + w.lines - 1) / w.lines * w.lines; ; {
		w.layOut(t, c)
		switch {
		case size*w.scratch(t, c) <= bandBytes:
			return
		case w.band > w.lines:
			w.band = max(w.lines, (w.band/2+w.lines-1)/w.lines*w.lines)
		case w.width > w.vectors:
			w.width = max(w.vectors, (w.width/2+w.vectors-1)/w.vectors*w.vectors)
		default:
			return
		}
	}
}

// layOut computes the planes of the scratch array.
func (w *windowing) layOut(t Target, c *loop.Convolution) {
	w.rows = (c.V.Span(w.band) + c.V.Stride - 1) / c.V.Stride
	if w.pitch = w.flatPitch(c); !w.flat {
		w.pitch = w.width*t.Lanes + (c.H.Taps-1)*c.H.Dilation/c.H.Stride
	}
	w.plane = c.V.Stride * c.H.Stride * w.rows * w.pitch
}

// describe says what was chosen, for people.
func (w windowing) describe(t Target, c *loop.Convolution) string {
	lines := "rows"
	if w.flat {
		lines = "images as one row"
	}
	return fmt.Sprintf("tiles of %d channels by %d %s of %d vectors in registers, bands of %d rows in %d KiB of scratch",
		w.channels, w.lines, lines, w.vectors, w.band, (max(4, c.Elem.Size())*w.scratch(t, c)+1023)>>10)
}

// finite reports whether all elements of a constant are finite.
func finite(t *tensor.Tensor) bool {
	for i := range t.Len() {
		if v := t.Elem(i); v-v != 0 {
			return false
		}
	}
	return true
}
