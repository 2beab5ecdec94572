package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"forgekernel/forge/tensor"
)

// Leader is rank 0 of an engine, which commands the others.
type Leader struct {
	self     *rank
	peers    []*peer // by rank; nil for this one
	deadline time.Duration
	health   *health

	turn  chan struct{} // holds a token while a call decides about the next step
	slots chan struct{} // holds a token for each step in flight
	queue chan job      // for the goroutine that executes
	wire  []byte        // of the step being sent
	room  room          // of the results
	ready map[bucket]bool
	next  uint64

	asking chan struct{} // holds a token while a rank tells something

	arrivals chan *flight // steps whose logits come from another rank
	quit     chan struct{}
	closed   chan struct{}
	stopping atomic.Bool // ranks have been told to stop, and close their links
	running  sync.WaitGroup
	flights
}

var _ Engine = (*Leader)(nil)

// Lead opens an engine of which this process has rank 0. Links has that to each rank,
// nil for rank 0 itself; the engine closes them. It returns when all ranks are ready, with
// the programs that [Options] say.
func Lead(ctx context.Context, m Member, links []Link, o Options) (*Leader, error) {
	self := m.rank()
	self.sizes = o.sizes(m.Place.Layout, m.Model.Config)
	if o.Blocks == 0 && self.sizes.blocks > 0 {
		var err error
		if self.sizes.blocks, err = self.fit(self.sizes.blocks); err != nil {
			return nil, err
		}
	}
	s := self.sizes
	if err := s.check(m.Model.Config); err != nil {
		return nil, err
	}
	if m.Place.Rank != 0 || len(links) != m.Place.Ranks() {
		return nil, fmt.Errorf("rank %d with %d links cannot lead the %d ranks of %v", m.Place.Rank, len(links), m.Place.Ranks(), m.Place.Layout)
	}
	l := &Leader{
		self: self, deadline: m.deadline(),
		turn: make(chan struct{}, 1), asking: make(chan struct{}, 1), slots: make(chan struct{}, s.layout.PP), queue: make(chan job, s.layout.PP+queued),
		arrivals: make(chan *flight, s.layout.PP), quit: make(chan struct{}), closed: make(chan struct{}),
		ready: make(map[bucket]bool), peers: make([]*peer, len(links)),
	}
	l.memory = newResults(m.Model.Config.Vocab)
	l.room = func(p *program) (*tensor.Tensor, error) { return l.memory.room(p.bucket.rows) }
	l.health = newHealth(m.epoch(), min(l.deadline/5, time.Second), l.tell)
	for r := 1; r < len(links); r++ {
		l.peers[r] = newPeer(newConn(links[r], m.epoch(), 0, r))
	}
	err := l.start(ctx, m)
	if err == nil {
		err = l.makeReady(ctx, o.Ready.programs(s))
	}
	if err != nil {
		l.blame(0, opOpen, err)
		return nil, l.Close()
	}
	return l, nil
}

// start opens the ranks and begins to work.
func (l *Leader) start(ctx context.Context, m Member) error {
	open, err := l.self.sizes.encode(m.Model.Config)
	if err != nil {
		return err
	}
	if err := l.self.open(); err != nil {
		return err
	}
	for _, p := range l.peers[1:] {
		l.running.Go(func() { l.listen(p) })
	}
	if err := l.command(kindOpen, open); err != nil {
		return err
	}
	for _, p := range l.peers[1:] {
		l.running.Go(func() { l.ping(p) })
	}
	l.running.Go(l.watch)
	if err := l.everyReady(ctx); err != nil {
		return err
	}
	if err := l.command(kindJoin, nil); err != nil {
		return err
	}
	g, err := openGroups(ctx, m.World, m.Place, l.self.backend)
	if err != nil {
		return err
	}
	l.self.groups = g
	l.health.joined(g)
	if err := l.everyReady(ctx); err != nil {
		return err
	}
	l.running.Go(l.run)
	if g.logits != nil {
		l.running.Go(l.collect)
	}
	return nil
}

// Info implements [Engine].
func (l *Leader) Info() Info {
	s := l.self.sizes
	return Info{
		TP: s.layout.TP, PP: s.layout.PP, Vocab: l.self.model.Config.Vocab, Context: s.context, BlockSize: s.blockSize, Blocks: s.blocks,
		MaxRows: s.maxRows, MaxTokens: s.maxTokens, Depth: s.layout.PP,
	}
}

// Over is closed when the engine has failed or was closed: no more results come.
func (l *Leader) Over() <-chan struct{} { return l.health.over }

// Submit implements [Engine].
func (l *Leader) Submit(ctx context.Context, step Step) (Ticket, error) {
	if refused := l.self.fits(step.Rows); refused != nil {
		return 0, refused
	}
	if err := l.take(ctx, l.turn); err != nil {
		return 0, err
	}
	passes := l.self.cutter.cut(step.Rows)
	if missing := l.missing(passes); len(missing) > 0 {
		// Compiling goes on when ctx ends: the next step will want it.
		prepared := make(chan error, 1)
		l.running.Go(func() { prepared <- l.prepare(context.Background(), missing) })
		select {
		case err := <-prepared:
			if err != nil {
				<-l.turn
				return 0, err
			}
		case <-ctx.Done():
			l.running.Go(func() { <-prepared; <-l.turn })
			return 0, context.Cause(ctx)
		}
	}
	defer func() { <-l.turn }()
	if err := l.take(ctx, l.slots); err != nil {
		return 0, err
	}
	t, err := l.send(step, passes)
	if err != nil {
		<-l.slots
	}
	return t, err
}

// take puts a token into a channel, unless the engine ends or is closed, or ctx ends,
// before.
func (l *Leader) take(ctx context.Context, tokens chan<- struct{}) error {
	select {
	case <-l.health.refusing:
		return l.health.err()
	default:
	}
	select {
	case tokens <- struct{}{}:
		return nil
	case <-l.health.refusing:
		return l.health.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// missing are the programs of passes that no rank has been told of.
func (l *Leader) missing(passes []pass) []bucket {
	var list []bucket
	for i := range passes {
		if b := passes[i].bucket; !l.ready[b] {
			list = append(list, b)
		}
	}
	return list
}

// prepare compiles programs on all ranks at once, until ctx ends. The caller has the
// turn.
func (l *Leader) prepare(ctx context.Context, list []bucket) error {
	if err := l.command(kindPrepare, encodeBuckets(list)); err != nil {
		return err
	}
	own := make(chan error, 1)
	l.queue <- job{prepare: list, done: func(err error) { own <- err }}
	select {
	case err := <-own:
		if err != nil {
			return l.fail(opPrepare, err)
		}
	case <-l.health.over:
		return l.health.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := l.everyReady(ctx); err != nil {
		return err
	}
	for _, b := range list {
		l.ready[b] = true
	}
	return nil
}

// send enters a step, sends it to all ranks, agrees with them about it and hands it to
// the goroutine that executes. The caller has the turn and a slot.
func (l *Leader) send(step Step, passes []pass) (Ticket, error) {
	if refused := l.self.enter(step.Rows); refused != nil {
		return 0, refused
	}
	l.next++
	l.wire = encodeStep(l.wire[:0], l.next, step.Rows, passes, l.self.sizes.blockSize)
	w := l.self.work()
	if err := w.decode(l.wire, &l.self.cutter); err != nil {
		return 0, l.fail(opCheck, err)
	}
	f := l.launch(w, l.self.place.PP)
	f.led = l.self.leads()
	if err := l.command(kindStep, l.wire); err != nil {
		return 0, err
	}
	ticket := Ticket(f.number)
	if err := l.self.hand(l.health.ctx, w, func() error {
		if l.self.groups.logits != nil {
			l.arrivals <- f
		}
		l.queue <- job{work: w, flight: f}
		return nil
	}); err != nil {
		return 0, l.fail(opCheck, err)
	}
	return ticket, nil
}

// Wait implements [Engine].
func (l *Leader) Wait(ctx context.Context, t Ticket) (Result, error) {
	f, err := l.await(t)
	if err != nil {
		select {
		case <-l.health.refusing:
			return Result{}, l.health.err()
		default:
			return Result{}, err
		}
	}
	select {
	case <-f.done:
		return l.land(f), nil
	default:
	}
	select {
	case <-f.done:
		return l.land(f), nil
	case <-l.health.over:
		return Result{}, l.health.err()
	case <-ctx.Done():
		l.abandon(f)
		return Result{}, context.Cause(ctx)
	}
}

// Release implements [Engine].
func (l *Leader) Release(ctx context.Context, request uint64) error {
	if err := l.take(ctx, l.turn); err != nil {
		return err
	}
	defer func() { <-l.turn }()
	if l.flies(request) {
		return fmt.Errorf("request %d cannot be released while it has a step in flight", request)
	}
	if !l.self.ledger.Release(request) {
		return nil
	}
	return l.command(kindRelease, binary.LittleEndian.AppendUint64(nil, request))
}

// Status implements [Engine].
func (l *Leader) Status() Status {
	var s Status
	if s.Health, s.Err = l.health.read(); s.Health == Healthy {
		l.refresh()
		s.Health, s.Err = l.health.read()
	}
	s.Steps, s.Tokens = l.counts()
	own := RankStatus{State: "idle", Step: l.self.at.Load(), Seen: time.Now()}
	if l.self.busy.Load() {
		own.State = "running"
	}
	if s.Health == Healthy && l.self.groups != nil {
		own.Last = l.self.groups.last()
	}
	s.Ranks = append(s.Ranks, own)
	for _, p := range l.peers[1:] {
		s.Ranks = append(s.Ranks, p.status())
	}
	for i := range s.Ranks {
		if s.Health != Healthy {
			s.Ranks[i].State = s.Health.String()
		}
	}
	return s
}

// Close implements [Engine].
func (l *Leader) Close() error {
	if !l.health.close() {
		<-l.closed
		_, err := l.health.read()
		return err
	}
	defer close(l.closed)
	late, stop := countdown(l.deadline)
	defer stop()
	l.drain(late)
	err := l.health.end()
	close(l.quit)
	for _, p := range l.peers[1:] {
		p.link.Close()
	}
	if endsBefore(&l.running, late) {
		err = cmp.Or(err, l.self.close())
	} else {
		err = cmp.Or(err, error(causeOf(0, l.health.epoch, 0, opExecute, errStuck)))
	}
	if l.self.groups != nil { // after the programs: what devices do in a group is part of these
		err = cmp.Or(err, l.self.groups.close())
	}
	return err
}

// drain waits for calls under way, for steps in flight and then for the other ranks to
// end. An engine that does not get so far has failed.
func (l *Leader) drain(late <-chan struct{}) {
	wait := func(arrived <-chan struct{}, missing func() int) bool {
		select {
		case <-arrived:
			return true
		case <-l.health.over:
		case <-late:
			l.health.fail(report{0, conclusive, causeOf(missing(), l.health.epoch, 0, opStop, errStuck)})
		}
		return false
	}
	landed := make(chan struct{})
	go func() { // ends with the engine
		defer close(landed)
		for _, tokens := range append(slices.Repeat([]chan struct{}{l.slots}, cap(l.slots)), l.turn) {
			select {
			case tokens <- struct{}{}:
			case <-l.health.over:
				return
			}
		}
	}()
	if !wait(landed, l.laggard) {
		return
	}
	l.stopping.Store(true)
	if l.command(kindStop, nil) != nil {
		return
	}
	for _, p := range l.peers[1:] {
		if !wait(p.ended, func() int { return p.peer }) {
			return
		}
	}
}
