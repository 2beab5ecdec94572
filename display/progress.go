package display

import (
	"context"
	"fmt"
	"html"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"forgekernel/display/internal/cells"
)

// When a meter speaks.
const (
	progressDelay    = time.Second            // silent when the work ends sooner
	progressInterval = 100 * time.Millisecond // between updates
)

// Meter reports how far a piece of work has come. It stays silent for one
// second, then shows one output and updates it at most ten times a second; the
// final state is always shown. All methods are safe for concurrent use.
type Meter struct {
	sink  Sink
	id    string
	begun time.Time
	stop  func() bool // stops watching the context

	mu    sync.Mutex
	label string
	total int
	start time.Time // of the stage at hand
	done  int
	shown bool
	sent  time.Time   // time of the last output
	timer *time.Timer // the pending output, nil when there is none
	state meterState
	end   time.Time
	err   error
}

type meterState uint8

const (
	running meterState = iota
	finished
	failed
)

// Progress starts a meter for total steps of work under label; a total of zero
// or less means unknown. When ctx ends before the work, the meter fails with
// its cause.
func Progress(ctx context.Context, label string, total int) *Meter {
	m := &Meter{
		sink:  SinkFrom(ctx),
		id:    uuid.NewString(),
		label: label,
		total: max(total, 0),
		begun: time.Now(),
	}
	m.start = m.begun
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(progressDelay, m.fire)
	m.stop = context.AfterFunc(ctx, func() { m.Fail(context.Cause(ctx)) })
	return m
}

// Add counts n more steps as done.
func (m *Meter) Add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(m.done + n)
}

// Set makes done the number of steps that are done.
func (m *Meter) Set(done int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(done)
}

// Stage begins the next part of the work, which counts from zero to a total of its
// own under a label of its own. The end tells the time that all parts took.
func (m *Meter) Stage(label string, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != running {
		return
	}
	m.label, m.total, m.start, m.done = label, max(total, 0), time.Now(), -1
	m.advance(0)
}

// Done ends the meter: the work succeeded. Later calls change nothing.
func (m *Meter) Done() { m.finish(finished, nil) }

// Fail ends the meter: the work failed with err. Later calls change nothing.
func (m *Meter) Fail(err error) { m.finish(failed, err) }

func (m *Meter) advance(done int) {
	if m.state != running || done == m.done {
		return
	}
	m.done = done
	if !m.shown || m.timer != nil {
		return // the pending output will carry it
	}
	if wait := progressInterval - time.Since(m.sent); wait > 0 {
		m.timer = time.AfterFunc(wait, m.fire)
		return
	}
	m.send()
}

func (m *Meter) fire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = nil
	if m.state == running {
		m.send()
	}
}

func (m *Meter) finish(state meterState, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != running {
		return
	}
	m.state, m.err, m.end = state, err, time.Now()
	m.stop()
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	if state == finished && m.total > 0 {
		m.done = m.total
	}
	if m.shown {
		m.send()
	}
}

// send shows the present state; m.mu is held, so that outputs keep their order.
func (m *Meter) send() {
	m.sent = time.Now()
	report(m.sink.Show(Output{Bundle: m.bundle(), ID: m.id, Update: m.shown}))
	m.shown = true
}

// ProgressMark is the metadata by which a program recognises the display of a meter: what
// takes longer than a second here takes less elsewhere, and shows nothing.
const ProgressMark = "forge.progress"

func (m *Meter) bundle() Bundle {
	return Bundle{Data: map[string]any{mimeText: m.text(), mimeHTML: m.html()}, Metadata: map[string]any{ProgressMark: true}}
}

const barCells = 24

func (m *Meter) text() string {
	line := cells.OneLine(m.label) + " "
	if m.total > 0 {
		full := int(m.fraction() * barCells)
		line += "[" + strings.Repeat("#", full) + strings.Repeat("-", barCells-full) + "] "
	}
	return line + m.figures()
}

func (m *Meter) html() string {
	accent, value := "#0969da", ""
	switch m.state {
	case finished:
		accent = "#1a7f37"
	case failed:
		accent = "#cf222e"
	}
	switch {
	case m.total > 0:
		value = fmt.Sprintf(` value="%d" max="%d"`, min(max(m.done, 0), m.total), m.total)
	case m.state != running:
		value = ` value="1" max="1"`
	}
	// Texts keep the colour of the page, which reads in the dark too.
	return fmt.Sprintf(`<div class="`+noMath+`"><span>%s</span> <progress%s style="width:240px;accent-color:%s"></progress> <span>%s</span></div>`,
		html.EscapeString(cells.OneLine(m.label)), value, accent, html.EscapeString(m.figures()))
}

func (m *Meter) fraction() float64 {
	return min(max(float64(m.done)/float64(m.total), 0), 1)
}

// figures is count, percentage, rate and time left, or the outcome. Work that
// counts nothing has only the time.
func (m *Meter) figures() string {
	now := m.sent
	if m.state != running {
		now = m.end
	}
	elapsed := now.Sub(m.start)
	staged := m.start != m.begun
	counts := m.total > 0 || m.done > 0
	var parts []string
	switch {
	case m.total > 0:
		parts = append(parts, fmt.Sprintf("%d/%d", m.done, m.total))
	case counts:
		parts = append(parts, fmt.Sprint(m.done))
	}
	rate := 0.0
	if elapsed > 0 { // a stage has just begun
		rate = float64(m.done) / elapsed.Seconds()
	}
	perSecond := significant(rate) + "/s"
	switch {
	case m.state == failed:
		parts = append(parts, fmt.Sprintf("failed after %s: %s", seconds(now.Sub(m.begun)), cells.OneLine(fmt.Sprint(m.err))))
	case m.state == finished && staged:
		parts = append(parts, "done in "+seconds(now.Sub(m.begun)))
	case m.state == finished && counts:
		parts = append(parts, fmt.Sprintf("done in %s (%s)", seconds(elapsed), perSecond))
	case m.state == finished:
		parts = append(parts, "done in "+seconds(elapsed))
	case !counts:
		parts = append(parts, seconds(elapsed))
	default:
		if m.total > 0 {
			parts = append(parts, fmt.Sprintf("%d%%", int(100*m.fraction())))
		}
		parts = append(parts, perSecond)
		if left := m.total - m.done; m.done > 0 && left > 0 {
			parts = append(parts, seconds(time.Duration(float64(left)/rate*float64(time.Second)))+" left")
		}
	}
	return strings.Join(parts, "  ")
}

// seconds is d for a reader: tenths below ten seconds, whole seconds above.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	text := d.String()
	if d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// significant is x with three significant digits, never in exponent form below
// a million.
func significant(x float64) string {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) || math.Abs(x) >= 1e6 || math.Abs(x) < 1e-3 {
		return fmt.Sprintf("%.3g", x)
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(x)))))
	return fmt.Sprintf("%.*f", decimals, x)
}
