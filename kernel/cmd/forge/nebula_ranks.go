package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/kernel/notebook/terminal"
	"forgekernel/nebula"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/serve"
)

// led is a job that this process leads: it is rank 0, or all of it.
type led struct {
	*serve.Local
	model *nebula.Model
	spec  job.Spec
	ranks launch.Job // how they were started
	// Threads of each rank.
	threads int
}

// lead does what a command says on rank 0 of a job, whoever starts the ranks: nobody
// where there is one, a launcher that has started this same command on every rank, or
// else this process, which starts itself so many times. Other ranks serve, and print
// nothing. The model is closed at the end.
func (d *decoder) lead(cmd *cobra.Command, m *nebula.Model, work func(context.Context, *led) error) error {
	defer m.Close()
	place, err := launch.Detect(os.LookupEnv)
	switch {
	case err != nil:
		return err
	case place.Size == 1 && d.spec.Layout.Ranks() == 1:
		if d.spec.Threads, err = d.threads(place); err != nil {
			return err
		}
		ctx, wipe := withProgress(cmd)
		l, err := job.Local(ctx, m.Decoder(), d.spec, nil)
		wipe()
		if err != nil {
			return err
		}
		return finished(cmd.Context(), work, &led{l, m, d.spec, place, d.spec.Threads})
	case place.Launcher == "none":
		if err := d.spec.FitsHere(m.Decoder(), d.spec.Layout.Places()...); err != nil {
			return err
		}
		return parent(cmd, d.spec.Layout.Ranks(), cmp.Or(d.spec.Deadline, engine.DefaultDeadline))
	}
	return d.member(cmd, m, work)
}

// threads are those of each rank.
func (d *decoder) threads(place launch.Job) (int, error) {
	if d.spec.Threads != 0 {
		return d.spec.Threads, nil
	}
	n, _, err := place.Threads(os.LookupEnv, launch.CoresHere(os.DirFS("/")))
	return n, err
}

// finished does the work of a command and ends the job.
func finished(ctx context.Context, work func(context.Context, *led) error, l *led) error {
	err := work(ctx, l)
	closing := l.Close()
	if err == nil {
		err = closing // else it is the same again, or follows from it
	}
	return err
}

// member is what a rank of a launcher, or of parent, does.
func (d *decoder) member(cmd *cobra.Command, m *nebula.Model, work func(context.Context, *led) error) error {
	r, err := launch.Attach()
	if err != nil {
		return err
	}
	if r.Job.Rank != 0 {
		_, err := job.Join(r.Context(), r, d.spec, nil)
		if e := (*engine.Error)(nil); errors.As(err, &e) && e.Rank != r.Job.Rank && !r.Started() {
			return exitStatus(exitFailure) // rank 0 says it; what a started rank says is only kept
		}
		return err
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	context.AfterFunc(r.Context(), func() { cancel(context.Cause(r.Context())) })
	if !r.Started() {
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, syscall.SIGINT) // that of the other ranks is ignored: they end with this one
		defer signal.Stop(interrupts)
		go func() {
			select {
			case s := <-interrupts:
				cancel(fmt.Errorf("stopped: %v", s))
			case <-ctx.Done():
			}
		}()
		starting, wipe := withProgressOf(ctx, cmd)
		return d.leader(ctx, starting, wipe, r, m, work)
	}
	cmd.SetOut(framed{r, kindOut})
	cmd.SetErr(framed{r, kindErr})
	go func() {
		for {
			f, err := r.Recv(ctx)
			if err != nil {
				return
			}
			if f.Kind == kindCancel {
				cancel(errors.New(string(f.Body)))
			}
		}
	}()
	line := &progressLine{w: framed{r, kindLine}, stay: cmd.ErrOrStderr()}
	err = d.leader(ctx, display.WithSink(ctx, line), line.wipe, r, m, work)
	status := report(cmd.ErrOrStderr(), cmd, err)
	if err := r.Send(unhurried(), launch.Frame{Kind: kindEnd}); err != nil {
		return err
	}
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// leader is rank 0. What it shows while the job starts goes where starting says, which is
// wiped.
func (d *decoder) leader(ctx, starting context.Context, wipe func(), r *launch.Rank, m *nebula.Model, work func(context.Context, *led) error) error {
	l, err := job.Join(starting, r, d.spec, nil)
	wipe()
	if err == nil {
		threads, _ := d.threads(r.Job) // Join has asked, too
		err = finished(ctx, work, &led{l, m, d.spec, r.Job, threads})
	}
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx) // whatever came of it on the way
	}
	return err
}

// Frames between rank 0 and the process that started it: what the one prints, the line
// that shows its progress, that it has said all, and why the other wants it to end.
const (
	kindOut = launch.FirstKind + iota
	kindErr
	kindLine
	kindEnd
	kindCancel
)

// framed sends what is written to it to the parent.
type framed struct {
	rank *launch.Rank
	kind launch.Kind
}

func (w framed) Write(p []byte) (int, error) {
	for at := 0; at < len(p); at += launch.MaxFrame {
		body := p[at:min(at+launch.MaxFrame, len(p))]
		if err := w.rank.Send(unhurried(), launch.Frame{Kind: w.kind, Body: body}); err != nil {
			return at, err
		}
	}
	return len(p), nil
}

// deadlined is a context that never ends, with a deadline that never comes: whoever
// reads what a program prints may take all the time that there is.
type deadlined struct{ context.Context }

func (deadlined) Deadline() (time.Time, bool) { return time.Now().AddDate(1, 0, 0), true }

func unhurried() context.Context { return deadlined{context.Background()} }

// Times of the parent.
const (
	// ranksGrace is how long ranks may take to end when asked to, once rank 0 has.
	ranksGrace = 500 * time.Millisecond
	// accusal is how long rank 0 may take to find out by itself that another one has
	// failed, and then to end when it is told.
	accusal = 3 * time.Second
)

// parent starts the ranks as this same command line, prints what rank 0 prints and
// ends as it does. One that is stopped for as long as the deadline is ended. When the context ends, rank 0 is asked to end its work.
func parent(cmd *cobra.Command, n int, deadline time.Duration) error {
	ctx := cmd.Context()
	ranks, err := launch.Start(ctx, launch.Spec{Ranks: n, Command: os.Args[1:], Grace: ranksGrace, Stopped: deadline})
	if err != nil {
		return err
	}
	defer ranks.Close(context.Background()) // again, where it was closed
	o := &overseer{ranks: ranks, over: make(chan struct{})}
	defer context.AfterFunc(ctx, func() { o.tell(context.Cause(ctx), launch.StopTime) })()
	exits := make(chan []launch.Exit)
	go func() { exits <- collectExits(ranks, o.accuse) }()
	said, relaying := o.relay(cmd)
	close(o.over)
	closing := ranks.Close(context.Background())
	return verdict(cmd.ErrOrStderr(), <-exits, said, errors.Join(o.deaf(), relaying, closing))
}

// overseer prints what rank 0 says, and asks it to end its work.
type overseer struct {
	ranks *launch.Ranks
	over  chan struct{} // closed when rank 0 has ended
	// printing is set while something is printed: rank 0 waits for whoever reads that.
	printing atomic.Bool

	mu      sync.Mutex
	asked   bool
	ignored error // what rank 0 was told and took no notice of
}

// accuse tells rank 0 of something that has failed.
func (o *overseer) accuse(why error) { o.tell(why, accusal) }

// tell tells rank 0 why it is to end. One that does not in time is ended: it may have
// been stopped, or hang.
func (o *overseer) tell(why error, limit time.Duration) {
	o.ranks.Channel(0).Send(context.Background(), launch.Frame{Kind: kindCancel, Body: []byte(why.Error())}) // it may have gone
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked {
		return
	}
	o.asked = true
	go func() {
		for late := false; !late || o.printing.Load(); late = true {
			select {
			case <-time.After(limit):
			case <-o.over:
				return
			}
		}
		o.mu.Lock()
		o.ignored = fmt.Errorf("%w; rank 0 took no notice for %v and was ended", why, limit)
		o.mu.Unlock()
		o.ranks.Kill(0)
	}()
}

// deaf is the error of a rank 0 that had to be ended.
func (o *overseer) deaf() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ignored
}

// collectExits notes how ranks end. When one fails and rank 0 does not notice, it is
// told.
func collectExits(ranks *launch.Ranks, tell func(error)) (list []launch.Exit) {
	var accusing *time.Timer
	for e := range ranks.Exits() {
		list = append(list, e)
		if failed := e.Code != 0 || e.Signal != 0; failed && e.Rank != 0 && accusing == nil {
			accusing = time.AfterFunc(accusal, func() { tell(e) })
		}
	}
	if accusing != nil {
		accusing.Stop()
	}
	return list
}

// relay prints what rank 0 sends until it ends, and reports whether it had said all.
// After a failure to print it tells rank 0 and goes on reading, so that it can end.
func (o *overseer) relay(cmd *cobra.Command) (said bool, failed error) {
	for {
		f, err := o.ranks.Channel(0).Recv()
		if errors.Is(err, io.EOF) {
			return said, failed
		}
		if err != nil {
			return said, errors.Join(failed, err)
		}
		o.printing.Store(true)
		switch f.Kind {
		case kindOut:
			_, err = cmd.OutOrStdout().Write(f.Body)
		case kindErr:
			_, err = cmd.ErrOrStderr().Write(f.Body)
		case kindLine:
			if w := cmd.ErrOrStderr(); terminal.IsScreen(w) {
				_, err = w.Write(f.Body)
			}
		case kindEnd:
			said = true
		}
		o.printing.Store(false)
		if err != nil && failed == nil {
			failed = err
			o.accuse(err)
		}
	}
}

// verdict is how a command ends whose ranks have ended: as rank 0. Ranks that have ended
// without a word are named, for rank 0 can only know that they have gone.
func verdict(w io.Writer, exits []launch.Exit, said bool, failed error) error {
	var first launch.Exit
	for _, e := range exits {
		if e.Rank == 0 {
			first = e
		}
	}
	if !said && failed != nil {
		return failed
	}
	if !said {
		return first
	}
	if first.Code != 0 {
		for _, e := range exits {
			if e.Rank != 0 && e.Abrupt() && e.Signal != syscall.SIGTERM {
				fmt.Fprintf(w, "forge: %v\n", e)
			}
		}
		return exitStatus(first.Code)
	}
	return failed
}
