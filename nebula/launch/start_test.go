package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// Every rank learns its place, leads a group of its own, holds no end of
// another's channel, and ends with status 0 when it is asked to.
func TestStart(t *testing.T) {
	folder(t)
	t.Setenv("NEBULA_RANK", "7") // of this process, not of its ranks
	t.Setenv("NEBULA_ADDRESS", "elsewhere")
	r, all := start(t, 3, "wait", func(s *Spec) {
		s.Payload, s.Epoch, s.Job, s.Grace = []byte("a job"), 4, "demo", patience
	})
	for i, s := range all {
		want := Job{Launcher: "nebula", Rank: i, Size: 3, LocalRank: i, LocalSize: 3, ID: "demo", Epoch: 4}
		if s.Job != want || s.Payload != "a job" || s.Dir != r.Dir() || s.Token != all[0].Token || len(s.Token) < 26 {
			t.Errorf("rank %d: %+v; want %+v", i, s, want)
		}
		if s.PID != r.Process(i).PID || s.Group != s.PID {
			t.Errorf("rank %d: process %d in group %d", i, s.PID, s.Group)
		}
		if s.Files != all[0].Files {
			t.Errorf("rank %d holds %d descriptors, rank 0 %d", i, s.Files, all[0].Files)
		}
		unix.Kill(s.PID, unix.SIGINT) // is ignored
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if e := next(t, r); e.Code != 0 || e.Output != "stopped: the rank was asked to stop\n" {
			t.Errorf("%+v", e)
		}
	}
	if _, ok := <-r.Exits(); ok {
		t.Error("a fourth rank ended")
	}
}

// What notebook services preload into their Python is not for ranks; elsewhere it is the
// person's own choice.
func TestPreloadedLibraries(t *testing.T) {
	t.Setenv("LD_PRELOAD", "libtcmalloc.so.4")
	for _, host := range []string{"COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "HOSTNAME"} {
		t.Run(host, func(t *testing.T) {
			t.Setenv(host, "test")
			kept := slices.Contains(environment(Spec{Ranks: 1}, 0), "LD_PRELOAD=libtcmalloc.so.4")
			if kept != (host == "HOSTNAME") {
				t.Errorf("LD_PRELOAD is handed on: %v", kept)
			}
		})
	}
}

func TestBadSpecs(t *testing.T) {
	folder(t)
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "0 ranks"},
		{Spec{Ranks: MaxRanks + 1}, "1025 ranks"},
		{Spec{Ranks: 1, Job: "../x"}, "job name"},
		{Spec{Ranks: 1, Job: ".part-1"}, "job name"},
		{Spec{Ranks: 1, Payload: make([]byte, MaxFrame)}, "payload"},
		{Spec{Ranks: 1, Grace: -1}, "negative"},
		{Spec{Ranks: 1, Stopped: -1}, "negative"},
		{Spec{Ranks: 1, Dir: "/no/such/folder"}, "start rank 0"},
	} {
		r, err := Start(t.Context(), c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want %q", c.spec, r, err, c.want)
		}
	}
}

// Two jobs of one name would share names of sockets and records.
func TestTwoOfOneName(t *testing.T) {
	folder(t)
	start(t, 1, "wait", func(s *Spec) { s.Job = "twin" })
	if _, err := Start(t.Context(), Spec{Ranks: 1, Job: "twin", Command: []string{"rank", "wait"}}); err == nil || !strings.Contains(err.Error(), "twin runs already") {
		t.Errorf("error %v", err)
	}
}

func TestExits(t *testing.T) {
	for _, c := range []struct {
		how  string
		end  func(*Ranks)
		want string
		code int
		sig  syscall.Signal
	}{
		{"status 3", nil, "rank 0 exited with status 3: cannot read the model", 3, 0},
		{"panic", nil, "rank 0 exited with status 2: panic: a rank's own mistake", 2, 0},
		{"wait", func(r *Ranks) { r.Kill(0) }, "rank 0 was ended by SIGKILL", -1, unix.SIGKILL},
		{"wait", func(r *Ranks) { unix.Kill(r.Process(0).PID, unix.SIGSEGV) }, "rank 0 exited with status 2: SIGSEGV", 2, 0},
		{"chatty", nil, "rank 0 exited with status 5: last words", 5, 0},
	} {
		t.Run(c.want, func(t *testing.T) {
			folder(t)
			r, _ := start(t, 1, c.how)
			if c.end != nil {
				c.end(r)
			}
			e := next(t, r)
			if e.Code != c.code || e.Signal != c.sig || !strings.HasPrefix(e.Error(), c.want) || len(e.Output) > TailSize {
				t.Errorf("%d, %v, %q, output of %d bytes; want %q", e.Code, e.Signal, e.Error(), len(e.Output), c.want)
			}
			if _, err := r.Channel(0).Recv(); err == nil {
				t.Error("the channel of a dead rank gives a frame")
			}
		})
	}
}

// A rank that stays stopped is ended, and said to have been; one that goes on in time is
// not.
func TestStopped(t *testing.T) {
	folder(t)
	const limit = 40 * time.Millisecond
	r, _ := start(t, 2, "wait", func(s *Spec) { s.Stopped, s.Grace = limit, patience })
	unix.Kill(r.Process(1).PID, unix.SIGSTOP)
	if e := next(t, r); e.Rank != 1 || e.Stopped != limit || e.Signal != unix.SIGKILL || e.Error() != "rank 1 was stopped for 40ms, and ended" {
		t.Errorf("%+v", e)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if e := next(t, r); e.Rank != 0 || e.Code != 0 || e.Stopped != 0 {
		t.Errorf("%+v", e)
	}
	r, _ = start(t, 1, "wait", func(s *Spec) { s.Stopped, s.Grace = patience, patience })
	unix.Kill(r.Process(0).PID, unix.SIGSTOP)
	unix.Kill(r.Process(0).PID, unix.SIGCONT)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if e := next(t, r); e.Code != 0 || e.Stopped != 0 {
		t.Errorf("%+v", e)
	}
}

// A rank that does not want to, or cannot, hear is ended all the same.
func TestCloseOfTheUnwilling(t *testing.T) {
	for _, how := range []string{"stubborn", "compute"} {
		t.Run(how, func(t *testing.T) {
			folder(t)
			r, _ := start(t, 2, how)
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if e := next(t, r); how == "stubborn" && e.Signal != unix.SIGKILL {
					t.Errorf("%+v", e)
				}
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		folder(t)
		r, all := start(t, 2, "wait")
		unix.Kill(all[0].PID, unix.SIGSTOP)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("no patience", func(t *testing.T) {
		folder(t)
		r, _ := start(t, 2, "stubborn", func(s *Spec) { s.Grace = time.Hour })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// A rank that takes nothing holds up neither Send nor Start for longer than was
// said, and the failed start leaves nothing behind.
func TestDeafRank(t *testing.T) {
	f := folder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, Spec{Ranks: 2, Command: []string{"rank", "deaf"}, Payload: make([]byte, MaxFrame/2-1)})
	if err == nil || !strings.Contains(err.Error(), "rank 1 took no assignment") {
		t.Errorf("error %v", err)
	}
	if jobs, err := f.Jobs(); err != nil || len(jobs) != 0 {
		t.Errorf("%+v, %v", jobs, err)
	}
}

func TestFrames(t *testing.T) {
	folder(t)
	r, _ := start(t, 1, "echo")
	for _, n := range []int{0, 1, 1000, MaxFrame} {
		want := Frame{FirstKind + 7, bytes.Repeat([]byte{byte(n)}, n)}
		go r.Channel(0).Send(t.Context(), want)
		got, err := r.Channel(0).Recv()
		if err != nil || got.Kind != want.Kind || !bytes.Equal(got.Body, want.Body) {
			t.Errorf("%d bytes: kind %d, %d bytes, %v", n, got.Kind, len(got.Body), err)
		}
	}
	if err := r.Channel(0).Send(t.Context(), Frame{FirstKind, make([]byte, MaxFrame+1)}); err == nil {
		t.Error("a frame beyond the limit was sent")
	}
	if err := r.Channel(0).Send(t.Context(), Frame{Kind: kindStop}); err == nil {
		t.Error("a frame of a reserved kind was sent")
	}
}

// A rank that is stopped takes no frames; what is sent fails by its deadline.
func TestSendToTheStopped(t *testing.T) {
	folder(t)
	r, all := start(t, 1, "echo")
	unix.Kill(all[0].PID, unix.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var err error
	for err == nil {
		err = r.Channel(0).Send(ctx, Frame{FirstKind, make([]byte, MaxFrame)})
	}
	if !os.IsTimeout(err) && !strings.Contains(err.Error(), "timeout") && ctx.Err() == nil {
		t.Errorf("error %v", err)
	}
}

// The end of its context interrupts a Send that nobody takes, also one without a
// deadline, and leaves other frames alone where it comes late.
func TestSendIsInterrupted(t *testing.T) {
	ours, theirs, err := channelPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := ours.Send(ctx, Frame{Kind: FirstKind}); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	sent := make(chan error)
	go func() { sent <- ours.Send(ctx, Frame{FirstKind, make([]byte, MaxFrame)}) }()
	if f, err := readFrame(theirs); err != nil || len(f.Body) != 0 {
		t.Fatalf("%v, %v", f, err)
	}
	cancel(enough)
	if err := <-sent; err == nil || !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A frame of which nothing was taken leaves the channel in step.
func TestSendAfterNothingWasTaken(t *testing.T) {
	ours, theirs, err := channelPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	send := func() error { // a frame so short that the socket takes it whole or not at all
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return ours.Send(ctx, Frame{Kind: FirstKind})
	}
	sent := 0
	for send() == nil {
		sent++
	}
	for range sent {
		if _, err := readFrame(theirs); err != nil {
			t.Fatal(err)
		}
	}
	if err := ours.Send(t.Context(), Frame{Kind: FirstKind}); err != nil {
		t.Errorf("after %d frames and one that was not taken: %v", sent, err)
	}
	if _, err := readFrame(theirs); err != nil {
		t.Error(err)
	}
}

// Garbage is an error on the side that reads it, and ends a rank that gets it.
func TestGarbage(t *testing.T) {
	folder(t)
	r, _ := start(t, 1, "garbage")
	if _, err := r.Channel(0).Recv(); err == nil || !strings.Contains(err.Error(), "begins no frame") {
		t.Errorf("error %v", err)
	}
	r, _ = start(t, 1, "wait")
	if _, err := r.Channel(0).file.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, r); e.Code != 4 || !strings.Contains(e.Output, "begins no frame") {
		t.Errorf("%+v", e)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{'N', 'R', 1, 16, 0, 0, 0, 1, 'x'})
	f.Add([]byte{'N', 'R', 1, 16, 0xff, 0, 0, 1, 'x'})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := readFrame(bytes.NewReader(raw))
		if err == nil && (frame.Kind == 0 || len(frame.Body) > len(raw)-headerSize) {
			t.Errorf("%q gives kind %d with %d bytes", raw, frame.Kind, len(frame.Body))
		}
	})
}

// A full disk for the logs changes nothing for the rank, nor for its last words.
func TestFullLogDisk(t *testing.T) {
	for _, full := range []struct {
		name string
		file *failing
	}{{"at once", &failing{}}, {"later", &failing{room: 100}}} {
		t.Run(full.name, func(t *testing.T) {
			pipe, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			o := newOutput(pipe, full.file)
			go o.drain()
			for range 3 * TailSize / 64 {
				if _, err := write.WriteString(strings.Repeat("y", 63) + "\n"); err != nil {
					t.Fatal(err)
				}
			}
			write.WriteString("last words\n")
			write.Close()
			o.finish()
			if s := o.text(); !strings.HasSuffix(s, "\nlast words\n") || len(s) < TailSize/2 || len(s) > TailSize {
				t.Errorf("tail of %d bytes", len(s))
			}
			if o.log.lost == "" || !full.file.closed {
				t.Errorf("lost %q, closed %t", o.log.lost, full.file.closed)
			}
		})
	}
}

// What a rank printed is read, also where nobody came to look before its end and another
// process has the pipe still.
func TestLastWordsAreReadLate(t *testing.T) {
	pipe, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	o := newOutput(pipe, &failing{room: LogSize})
	words := strings.Repeat("y", 40<<10) + "\nlast words\n"
	if _, err := write.WriteString(words); err != nil {
		t.Fatal(err)
	}
	pipe.SetReadDeadline(time.Unix(1, 0)) // as finish does
	o.drain()
	o.finish()
	if got := o.text(); got != words {
		t.Errorf("of %d bytes %d are kept", len(words), len(got))
	}
}

// failing is a file on a disk that is full after room bytes.
type failing struct {
	room   int
	closed bool
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, unix.ENOSPC
	}
	return n, nil
}

func (f *failing) Close() error { f.closed = true; return nil }

// The log of a real rank is bounded, and a limit on the size of files, which
// sends SIGXFSZ, ends nobody.
func TestLogLimits(t *testing.T) {
	folder(t)
	for _, limit := range []int{LogSize + 200, 4096} {
		out, err := exec.Command(os.Args[0], "parent", "chatty", "1", strconv.Itoa(limit)).CombinedOutput()
		var size int
		_, rest, _ := strings.Cut(string(out), "log ")
		if _, scan := fmt.Sscan(rest, &size); err != nil || scan != nil || !strings.Contains(string(out), "rank 0 exited with status 5: last words") {
			t.Fatalf("limit %d: %v: %s", limit, err, out)
		}
		if size < min(limit, LogSize) || size > limit {
			t.Errorf("limit %d: a log of %d bytes", limit, size)
		}
	}
}

// What a rank started and left in its group ends with it, and holds up nothing
// though it has the rank's pipe.
func TestProcessesOfARank(t *testing.T) {
	folder(t)
	r, all := start(t, 1, "wait")
	member := &unixProcess{t: t, group: all[0].PID}
	member.start()
	r.Kill(0)
	next(t, r)
	waitUntilGone(t, member.id)
}

// unixProcess is a process in the group of another.
type unixProcess struct {
	t     *testing.T
	group int
	id    proc.ID
}

func (p *unixProcess) start() {
	child, err := os.StartProcess("/bin/sleep", []string{"sleep", "4242"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true, Pgid: p.group}})
	if err != nil {
		p.t.Fatal(err)
	}
	go child.Wait()
	stat, err := proc.Read(child.Pid)
	if err != nil {
		p.t.Fatal(err)
	}
	p.id = stat.ID
}
