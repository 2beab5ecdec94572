package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/sample"
)

// worker is a rank other than 0. One goroutine handles commands, another executes.
type worker struct {
	*rank
	conn     *conn
	world    collective.Group
	deadline time.Duration
	queue    chan job // nil until the rank is opened
	running  sync.WaitGroup
	ctx      context.Context // of runs and calls of groups
	cancel   context.CancelCauseFunc
	told     chan struct{} // closed when rank 0 has been told of the failure
	handling atomic.Bool   // a command, and hears nothing
	stuck    bool          // a program did not end

	mu    sync.Mutex // of what follows, and of groups when the rank joins them
	cause *Error     // the first failure on this rank
}

// job is what the goroutine that executes does next: prepare programs, or a step.
type job struct {
	*work
	flight  *flight // of the step, on rank 0
	prepare []bucket
	done    func(error) // of prepare
}

// queued is how many jobs a rank may be sent beyond the steps in flight.
const queued = 4

// Serve executes what rank 0 commands over the link until it says that this is the
// end, and closes the link. The error is the cause of the engine's failure, the same
// as on rank 0 if that could still tell it. The end of ctx is a failure of this rank.
func Serve(ctx context.Context, m Member, link Link) error {
	w := &worker{
		rank: m.rank(), conn: newConn(link, m.epoch(), m.Place.Rank, 0), world: m.World,
		deadline: m.deadline(), told: make(chan struct{}),
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { w.fail(opCommand, context.Cause(ctx)) })
	defer stop()
	watch := make(chan struct{})
	go w.watch(watch)
	err := w.serve()
	close(watch)
	if err != nil {
		w.fail(opCommand, err)
		<-w.told
	}
	if w.queue != nil {
		close(w.queue)
		w.stuck = !endsWithin(&w.running, w.deadline)
	}
	w.cancel(ErrClosed)
	if !w.stuck {
		_ = w.close() // rank 0 has gone
	}
	if w.groups != nil {
		err = cmp.Or(err, w.groups.close())
	}
	link.Close()
	return err
}

// serve handles messages until the end.
func (w *worker) serve() error {
	for {
		k, body, err := w.conn.receive()
		if err != nil {
			return w.fail(opCommand, err)
		}
		w.handling.Store(true)
		switch failed := w.failed(); {
		case k == kindAbort:
			e, _, err := decodeCause(body, w.conn.epoch, w.place.Ranks())
			if err != nil {
				return w.fail(opCommand, err)
			}
			w.fail(opCommand, e)
			return e
		case failed != nil: // nothing but the cause for all is of interest
		case k == kindStop:
			return w.stop()
		default:
			if op, err := w.handle(k, body); err != nil {
				w.fail(op, err)
			}
		}
		w.conn.heard.Store(true) // nobody could be heard before
		w.handling.Store(false)
	}
}

// handle obeys a command. It returns what it was doing when it failed.
func (w *worker) handle(k kind, body []byte) (op string, err error) {
	if early := w.queue == nil; early != (k == kindOpen) && k != kindPing {
		return opCommand, fmt.Errorf("rank 0 commands %q out of order", k)
	}
	switch k {
	case kindOpen:
		return opOpen, w.opened(body)
	case kindJoin:
		return opOpen, w.join()
	case kindPrepare:
		return opCommand, w.prepared(body)
	case kindStep:
		return w.take(body)
	case kindRelease:
		in := words{b: body}
		if w.ledger.Release(in.long()); in.cut {
			err = errors.New("the message of a release is cut short")
		}
		return opCommand, err
	case kindPing:
		return opCommand, w.pong(body)
	case kindTell:
		return opCommand, w.tell(body)
	}
	return opCommand, fmt.Errorf("rank 0 sends %q, which is an answer", k)
}

// opened begins the work of the rank, with the sizes that rank 0 has decided.
func (w *worker) opened(body []byte) error {
	var err error
	if w.sizes, err = decodeSizes(body, w.model.Config, w.place.Layout); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	w.queue = make(chan job, w.place.PP+queued)
	return w.conn.send(kindReady, nil)
}

// join makes the groups of the rank, which all ranks do at once.
func (w *worker) join() error {
	g, err := openGroups(w.ctx, w.world, w.place, w.backend)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.groups = g
	failed := w.cause
	w.mu.Unlock()
	if failed != nil {
		g.abort(failed)
	}
	w.running.Go(w.run)
	return w.conn.send(kindReady, nil)
}

// enqueue hands a job to the goroutine that executes.
func (w *worker) enqueue(j job) error {
	select {
	case w.queue <- j:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

func (w *worker) prepared(body []byte) error {
	list, err := decodeBuckets(body, &w.cutter)
	if err != nil {
		return err
	}
	return w.enqueue(job{prepare: list, done: func(err error) {
		if err == nil {
			err = w.conn.send(kindReady, nil)
		}
		if err != nil {
			w.fail(opPrepare, err)
		}
	}})
}

// take checks a step, agrees about it with all ranks and hands it on.
func (w *worker) take(body []byte) (op string, err error) {
	if w.groups == nil {
		return opCommand, errors.New("rank 0 commands a step before the ranks are joined")
	}
	step := w.work()
	if err := step.decode(body, &w.cutter); err != nil {
		return opCommand, err
	}
	if refused := w.fits(step.rows); refused != nil {
		return opCheck, refused
	}
	if refused := w.enter(step.rows); refused != nil {
		return opCheck, refused
	}
	return opCheck, w.hand(w.ctx, step, func() error { return w.enqueue(job{work: step}) })
}

// run is the goroutine that executes.
func (w *worker) run() {
	ctx := w.within(w.ctx)
	for j := range w.queue {
		switch {
		case w.failed() != nil:
		case j.work == nil:
			j.done(w.prepare(ctx, j.prepare))
		default:
			if err := w.execute(ctx, j.work, w.room, w.deliver); err != nil {
				w.fail(opExecute, err)
			}
		}
		if j.work != nil {
			w.recycle(j.work)
		}
	}
}

// room is room for logits until the next pass: those that stay on a device leave it where
// rank 0 wants them.
func (w *worker) room(p *program) (t *tensor.Tensor, err error) {
	if p.leads == nil || w.groups.logits == nil {
		return scratch(p)
	}
	if p.leads.sent == nil {
		p.leads.sent, err = p.newLogits()
	}
	return p.leads.sent, err
}

// scratch is room for logits that are sent or dropped before the next pass. Nobody looks
// at those that stay on a device.
func scratch(p *program) (*tensor.Tensor, error) {
	if p.leads != nil || p.outputs[0] != nil {
		return p.outputs[0], nil
	}
	return p.newLogits()
}

// deliver tells rank 0 that the last stage has done a pass, with the logits if there
// are any.
func (w *worker) deliver(p *pass, logits *tensor.Tensor, leads []sample.Lead) error {
	if w.groups.logits == nil {
		return nil
	}
	if leads != nil {
		t, err := encodeLeads(leads)
		if err == nil {
			err = w.groups.logits.Send(w.ctx, 0, t)
		}
		if err != nil || logits == nil {
			return err
		}
	}
	if logits == nil {
		logits = w.groups.done
	}
	return w.groups.logits.Send(w.ctx, 0, logits)
}

// stop ends the rank after its last step.
func (w *worker) stop() error {
	if w.queue != nil {
		close(w.queue)
		w.stuck = !endsWithin(&w.running, w.deadline)
		w.queue = nil
		if w.stuck {
			return w.fail(opExecute, errStuck)
		}
	}
	if err := w.failed(); err != nil {
		return err
	}
	return w.conn.send(kindStopped, nil)
}

var errStuck = errors.New("a program did not end")

// fail records the first failure, ends what is under way and tells rank 0, which
// answers with the cause for all. If it does not, the link closes.
func (w *worker) fail(op string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause != nil {
		return w.cause
	}
	step := uint64(0)
	if w.busy.Load() {
		step = w.at.Load()
	}
	cause := causeOf(w.place.Rank, w.conn.epoch, step, op, err)
	w.cause = cause
	w.cancel(cause)
	later(w.deadline/2, func() { w.conn.link.Close() })
	go func() {
		if w.conn.send(kindFailed, encodeCause(cause, weigh(w.place.Rank, err))) != nil {
			w.conn.link.Close()
		}
		close(w.told)
	}()
	if w.groups != nil {
		w.groups.abort(cause)
	}
	return cause
}

func (w *worker) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause == nil {
		return nil
	}
	return w.cause
}

// watch fails the rank when rank 0 gives no sign of life. A rank that is busy with a
// command hears nothing: calls of groups have deadlines of their own.
func (w *worker) watch(end <-chan struct{}) {
	tick := time.NewTicker(w.deadline / looks)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		deadlines := 1 + bit(w.handling.Load()) // before the look: a command that has ended counts as heard
		w.conn.look()
		if e := w.conn.silence(w.deadline, deadlines); e != nil {
			w.fail(opHeartbeat, e)
			return
		}
	}
}

// pong answers a ping with its stamp, the time here, the step that executes or did
// last, 1 if it executes still, 1 + the rank that this one waits for or 0, and the last
// call of a group.
func (w *worker) pong(body []byte) error {
	if len(body) != 8 {
		return errors.New("a ping has no stamp")
	}
	w.conn.pinged.Store(true)
	le := binary.LittleEndian
	b := append([]byte(nil), body...)
	b = le.AppendUint64(b, uint64(w.rec.Now()))
	b = le.AppendUint64(b, w.at.Load())
	b = le.AppendUint32(b, uint32(bit(w.busy.Load())))
	b = le.AppendUint32(b, uint32(w.waits()+1))
	if w.groups != nil {
		b = append(b, w.groups.last()...)
	}
	return w.conn.send(kindPong, b)
}
