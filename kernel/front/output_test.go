package front

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"forgekernel/kernel/wire"
)

var slogDiscard = slog.New(slog.DiscardHandler)

func mustSigner(t *testing.T) *wire.Signer {
	s, err := wire.NewSigner(wire.Scheme, []byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sink collects what a cellOutput publishes as "stream:text" items.
type sink struct {
	mu    sync.Mutex
	items []string
}

func (s *sink) output(limit int64) *cellOutput {
	return newCellOutput(func() int64 { return limit }, func(stream, text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.items = append(s.items, stream+":"+text)
	})
}

func (s *sink) published() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		limit  int64
		writes []string // "o", "e" or "f" (flush) and text
		want   []string
	}{
		"merged":          {0, []string{"oa", "ob", "oc"}, []string{"stdout:abc"}},
		"switch":          {0, []string{"oa", "eb", "oc"}, []string{"stdout:a", "stderr:b", "stdout:c"}},
		"flush":           {0, []string{"oa", "f", "ob"}, []string{"stdout:a", "stdout:b"}},
		"split rune":      {0, []string{"oa\xc3", "f", "o\xa9b"}, []string{"stdout:a", "stdout:éb"}},
		"split over both": {0, []string{"o\xe2\x82", "ex", "o\xac"}, []string{"stderr:x", "stdout:€"}},
		"four parts":      {0, []string{"o\xf0", "o\x9f", "o\x98", "o\x80"}, []string{"stdout:😀"}},
		"never completed": {0, []string{"oa\xe2\x82"}, []string{"stdout:a", "stdout:\uFFFD"}},
		"invalid":         {0, []string{"oa\xffb"}, []string{"stdout:a\uFFFDb"}},
		"at the limit":    {3, []string{"oabc"}, []string{"stdout:abc"}},
		"over the limit":  {3, []string{"oab", "ocdef", "og", "eh"}, []string{"stdout:abc", "stderr:" + truncationNote(3)}},
		"cut at a rune":   {3, []string{"oabé"}, []string{"stdout:ab", "stderr:" + truncationNote(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			var s sink
			o := s.output(c.limit)
			for _, w := range c.writes {
				switch w[0] {
				case 'o':
					o.write(stdout, []byte(w[1:]))
				case 'e':
					o.write(stderr, []byte(w[1:]))
				case 'f':
					o.flush(false)
				}
			}
			o.flush(true)
			equal(t, "published", s.published(), c.want)
		})
	}
}

// However valid text is cut into writes and flushes, it arrives as it was; other
// text arrives as valid text.
func FuzzMerge(f *testing.F) {
	f.Add("aé€😀", uint64(0b1011))
	f.Add("\xff\xe2\x82", uint64(3))
	f.Fuzz(func(t *testing.T, text string, cuts uint64) {
		var s sink
		o := s.output(0)
		for i := range len(text) {
			o.write(stdout, []byte{text[i]})
			if cuts>>(i%64)&1 == 1 {
				o.flush(false)
			}
		}
		o.flush(true)
		got := strings.ReplaceAll(strings.Join(s.published(), ""), "stdout:", "")
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		if utf8.ValidString(text) && !strings.Contains(text, "stdout:") && got != text {
			t.Errorf("%q arrived as %q", text, got)
		}
	})
}

// Text is late by flushFirst, or by flushMost while more keeps coming.
func TestLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sink
		o := s.output(0)
		o.write(stdout, []byte("a"))
		time.Sleep(flushFirst - time.Nanosecond)
		equal(t, "before", len(s.published()), 0)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		equal(t, "after", s.published(), []string{"stdout:a"})
		for range 2000 { // two seconds of a line each millisecond
			o.write(stdout, []byte("line\n"))
			time.Sleep(time.Millisecond)
		}
		o.flush(true)
		if n := len(s.published()); n < 30 || n > 60 {
			t.Errorf("two seconds of printing made %d messages", n)
		}
		if text := strings.ReplaceAll(strings.Join(s.published()[1:], ""), "stdout:", ""); text != strings.Repeat("line\n", 2000) {
			t.Error("text was lost or reordered")
		}
		time.Sleep(time.Second)
		before := len(s.published())
		o.write(stdout, []byte("prompt"))
		time.Sleep(flushFirst)
		synctest.Wait()
		equal(t, "after a pause", len(s.published()), before+1)
	})
}

func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(0, 0)
	if wait := p.take(paceBurst, now); wait != 0 {
		t.Errorf("the burst waits %v", wait)
	}
	if wait := p.take(paceRate, now); wait != time.Second {
		t.Errorf("one second's worth waits %v", wait)
	}
	now = now.Add(time.Second)
	if wait := p.take(paceRate/2, now); wait != time.Second/2 {
		t.Errorf("after its second: %v", wait)
	}
	now = now.Add(time.Hour)
	if wait := p.take(paceBurst, now); wait != 0 {
		t.Errorf("after a pause: %v", wait)
	}
}

func TestManyPrints(t *testing.T) {
	r := start(t)
	const n = 20_000
	begun := time.Now()
	res := r.run(fmt.Sprintf("lines %d", n))
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if res.stream(t, stdout) != want.String() {
		t.Error("text was lost or reordered")
	}
	// The first few waits after each pause are shorter than flushMost. A machine that
	// prints slowly makes more messages, and none more often than that.
	if most := 10 + int(2*time.Since(begun)/flushMost); len(res.outputs) > most {
		t.Errorf("%d messages, at most %d", len(res.outputs), most)
	}
}

func TestTruncation(t *testing.T) {
	const limit = 100_000
	r := start(t, func(c *Config) { c.OutputLimit = limit })
	res := r.run("flood 1000000\ndisplay d shown")
	equal(t, "bytes", len(res.stream(t, stdout)), limit)
	equal(t, "note", res.stream(t, stderr), truncationNote(limit))
	last := res.outputs[len(res.outputs)-1]
	equal(t, "displays go on", last.Header.MsgType, "display_data")
	// The next cell has its own allowance, and the limit can be lifted.
	equal(t, "next cell", len(r.run("flood 50000").stream(t, stdout)), 50_000)
	equal(t, "lifted", len(r.run("limit 0\nflood 1000000").stream(t, stdout)), 1_000_000)
}

// A runaway cell is stopped by an interrupt while it prints.
func TestRunaway(t *testing.T) {
	r := start(t, func(c *Config) { c.OutputLimit = 1 << 20 })
	m := r.execute("forever")
	for r.recv(r.iopub).Header.MsgType != "stream" {
	}
	r.send(r.control, r.message("interrupt_request", nil))
	equal(t, "interrupt", content[wire.StatusReply](t, r.recv(r.control)).Status, "ok")
	equal(t, "cell", content[wire.ExecuteResponse](t, r.recv(r.shell)).Name, "Interrupted")
	r.until(m)
	equal(t, "next", r.run("result 1").text(t), "1")
}

// A reader that does not read stops the cell, not control, and no more is held
// for it than its queue; when it reads again it gets everything.
func TestSlowReader(t *testing.T) {
	const total = 48 << 20 / 100 * 100
	r := start(t)
	pid := r.run("pid").text(t)
	r.deafen()
	m := r.execute(fmt.Sprintf("flood %d", total))
	r.fill(pid)
	got := 0
	for done := false; !done; {
		o := r.recv(r.iopub)
		switch o.Header.MsgType {
		case "stream":
			text := content[wire.Stream](t, o).Text
			got += len(text)
			if len(text) > flushSize {
				t.Fatalf("one message of %d bytes", len(text))
			}
		case "status":
			done = r.parent(o) == m.Header.MsgID && r.idle(o)
		case "error":
			t.Errorf("the cell failed: %s", o.Content)
		}
	}
	equal(t, "bytes", got, total)
}

// deafen fills the client's own inbox, which counts messages and not their bytes,
// with the status of small requests, so that it takes none of what a cell shows.
func (r *rig) deafen() {
	r.t.Helper()
	for range 50 {
		r.send(r.control, r.message("kernel_info_request", nil))
		r.recv(r.control)
	}
}

// fill returns when the cell that runs has filled all there is between it and
// the client, which is deaf.
func (r *rig) fill(pid string) {
	// What the front may hold, and sockets and pipes, whose buffers the system lets grow
	// as it sees fit; and of the largest display that a test shows one on its way into
	// the queue and one that is being written.
	const most = iopubQueue + 16<<20 + 2*2*hurryBytes
	// A queue is full without the display that it has no room for.
	const full = iopubQueue - 2*2*hurryBytes
	t := r.t
	t.Helper()
	for still, last := 0, int64(-1); still < 5; {
		// The cell prints until everything is full; control answers all the time.
		// Few requests, since their status messages wait behind the output too.
		for range 3 {
			time.Sleep(5 * time.Millisecond)
			info := r.send(r.control, r.message("kernel_info_request", nil))
			if got := r.recv(r.control); r.parent(got) != info.Header.MsgID {
				t.Fatal("control is out of step")
			}
		}
		now := written(t, pid)
		if still++; now != last || now < full {
			still = 0
		}
		last = now
		if now > most {
			t.Fatalf("the session has printed %d bytes that nobody reads; at most %d may be held", now, most)
		}
	}
}

// A cell that is interrupted while nobody reads its output answers at once. The
// client stays connected, and sees to the end what was published.
func TestInterruptWithSlowReader(t *testing.T) {
	// On a busy machine a queue that fills slowly may still have room for a large
	// display, which is then not discarded; TestExcess holds the bound itself.
	for code, mayCut := range map[string]bool{
		"forever":                           false, // what pipes hold is still published
		fmt.Sprint("shows ", hurryBytes/10): false,
		fmt.Sprint("shows ", 2*hurryBytes):  true,
	} {
		t.Run(code, func(t *testing.T) {
			r := start(t)
			pid := r.run("pid").text(t)
			r.deafen()
			m := r.execute(code)
			r.fill(pid)
			r.send(r.control, r.message("interrupt_request", nil))
			r.recv(r.control)
			equal(t, "cell", r.replied(m).Name, "Interrupted")
			noted, failed := false, false
			for _, o := range r.until(m) {
				switch o.Header.MsgType {
				case "stream":
					noted = noted || content[wire.Stream](t, o).Text == discardNote
				case "error":
					failed = true
				case "iopub_welcome":
					t.Error("the client was disconnected")
				}
			}
			if noted && !mayCut {
				t.Error("output that fits was discarded")
			}
			equal(t, "error", failed, true)
			equal(t, "the next cell", r.run("pid").text(t), pid)
		})
	}
}

// Nor does a cell that is interrupted wait for long for what goroutines of earlier
// cells print.
func TestInterruptWithFlood(t *testing.T) {
	r := start(t)
	pid := r.run("pid").text(t)
	r.deafen()
	r.execute("floods")
	r.recv(r.shell)
	m := r.execute("block")
	r.fill(pid)
	r.send(r.control, r.message("interrupt_request", nil))
	r.recv(r.control)
	equal(t, "cell", r.replied(m).Name, "Interrupted")
}

func TestExcess(t *testing.T) {
	var x excess
	for _, tt := range []struct {
		bytes       int
		fits, first bool
	}{
		{hurryBytes / 2, true, false},
		{hurryBytes / 2, true, false},
		{1, false, true},
		{0, false, false}, // no gap: what comes later is discarded too
	} {
		if fits, first := x.take(tt.bytes); fits != tt.fits || first != tt.first {
			t.Errorf("take(%d): fits %t, first %t; want %t, %t", tt.bytes, fits, first, tt.fits, tt.first)
		}
	}
}

// Shutdown does not wait for a client that does not read either.
func TestShutdownWithSlowReader(t *testing.T) {
	r := start(t)
	pid := r.run("pid").text(t)
	r.deafen()
	m := r.execute("forever")
	r.fill(pid)
	r.send(r.control, r.message("shutdown_request", wire.ShutdownRequest{Restart: true}))
	equal(t, "cell", r.replied(m).Name, "KernelShutdown")
	r.close()
}

// written is the number of bytes that a process has written.
func written(t testing.TB, pid string) int64 {
	raw, err := os.ReadFile("/proc/" + pid + "/io")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "wchar: ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
