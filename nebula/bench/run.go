package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gofrs/uuid/v5"

	"forgekernel/display"
	"forgekernel/forge/capture"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// Engine is what is measured: an [engine.Leader].
type Engine interface {
	engine.Engine
	Describe(ctx context.Context, rank int) (engine.Description, error)
	Trace(ctx context.Context) ([]trace.Rank, error)
}

// Subject is a job to measure. Nobody else may use the engine meanwhile.
type Subject struct {
	Engine   Engine
	Name     string       // of the model
	Model    *model.Model // of which the reference is made; it is released
	DType    tensor.DType
	Topology Topology
	// Processors are those of all ranks of this host; nil for those of this process,
	// which may be one that is bound.
	Processors []int
	Describe   func(context.Context) capture.Environment // nil is [capture.Describe]
}

// Settings say what is measured.
type Settings struct {
	Batches []int // sizes of batch
	Prompt  int   // tokens of each prompt
	New     int   // tokens that are generated for each, at least two
	Prefix  int   // tokens that all prompts begin with
	Repeats int
}

// DefaultSettings are those of a measurement of minutes.
func DefaultSettings() Settings {
	return Settings{Batches: []int{1, 4, 16}, Prompt: 64, New: 32, Repeats: 3}
}

// Check says what is wrong with settings for a model.
func (s Settings) Check(c model.Config) error {
	switch {
	case len(s.Batches) < 1 || len(s.Batches) > MaxBatches:
		return fmt.Errorf("%d sizes of batch; there can be 1 to %d", len(s.Batches), MaxBatches)
	case s.Prompt < 1 || s.New < 2:
		return fmt.Errorf("prompts of %d tokens and %d new ones; there must be at least 1 and 2", s.Prompt, s.New)
	case s.Prompt > c.Context || s.New > c.Context || s.Prompt+s.New > c.Context:
		return fmt.Errorf("prompts of %d tokens and %d new ones do not fit the context of %d", s.Prompt, s.New, c.Context)
	case s.Prefix < 0 || s.Prefix > s.Prompt:
		return fmt.Errorf("a common beginning of %d tokens of prompts of %d", s.Prefix, s.Prompt)
	case s.Repeats < 1 || s.Repeats*(s.New-1) > MaxSamples:
		return fmt.Errorf("%d repetitions of %d decode steps; there can be %d samples", s.Repeats, s.New-1, MaxSamples)
	}
	seen := map[int]bool{}
	for _, b := range s.Batches {
		if b < 1 || b > mostBatch || seen[b] {
			return fmt.Errorf("a batch of %d: sizes are 1 to %d, each once", b, mostBatch)
		}
		seen[b] = true
	}
	return nil
}

// mostBatch is the most requests of a batch, which an engine takes at once.
const mostBatch = 1 << 10

// Largest is the largest batch.
func (s Settings) Largest() int {
	most := 0
	for _, b := range s.Batches {
		most = max(most, b)
	}
	return most
}

// Regions is how many regions of a trace a rank has to keep: those of the decode steps
// of one repetition.
func (s Settings) Regions(c model.Config, l shard.Layout) int {
	return min(1<<21, s.New*l.PP*(4*c.Layers+16))
}

// ErrGate is the error of a job that did not pass its gate; the capture says why.
var ErrGate = errors.New("the gate was not passed, and nothing was timed")

// run is a capture that is being taken.
type run struct {
	subject Subject
	o       Settings
	c       *Capture
	info    engine.Info
	prompts [][]int32 // of the largest batch
	last    uint64    // request
	block   int64     // bytes of a block of the cache, of all ranks
}

// Run measures a job. A job that does not pass its gate gives a capture without samples
// and [ErrGate].
func Run(ctx context.Context, s Subject, o Settings) (*Capture, error) {
	if err := o.Check(s.Model.Config); err != nil {
		return nil, err
	}
	r := &run{subject: s, o: o, info: s.Engine.Info(), last: firstRequest, prompts: prompts(o, s.Model.Config.Vocab)}
	if err := r.fits(); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.gate(ctx); err != nil {
		return nil, err
	}
	if r.c.Gate.Passed() {
		if err := r.measure(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.ranks(ctx); err != nil {
		return nil, err
	}
	r.c.Environment.LoadAfter = capture.Load()
	for i, b := range r.c.Batches {
		r.c.Batches[i].Figures = r.c.figures(b)
	}
	if !r.c.Gate.Passed() {
		return r.c, fmt.Errorf("%w: %s", ErrGate, r.c.Gate.Error)
	}
	return r.c, nil
}

// firstRequest is beyond the requests of gates and schedulers.
const firstRequest = 1 << 48

// fits checks that the engine has room for the largest batch.
func (r *run) fits() error {
	most := r.o.Largest()
	switch need := most * r.width(); {
	case most > r.info.MaxRows:
		return fmt.Errorf("a batch of %d: a step of this job has at most %d rows", most, r.info.MaxRows)
	case need > r.info.Blocks:
		return fmt.Errorf("a batch of %d takes %d blocks of the cache; this job has %d", most, need, r.info.Blocks)
	case r.o.Prompt+r.o.New > r.info.Context:
		return fmt.Errorf("%d tokens of a request: the context of this job is %d", r.o.Prompt+r.o.New, r.info.Context)
	}
	return nil
}

// width is the blocks of a request.
func (r *run) width() int {
	return (r.o.Prompt + r.o.New + r.info.BlockSize - 1) / r.info.BlockSize
}

// begin says what is measured, and where.
func (r *run) begin(ctx context.Context) error {
	describe := r.subject.Describe
	if describe == nil {
		describe = capture.Describe
	}
	var planned int64
	var backend string
	for rank := range r.info.TP * r.info.PP {
		d, err := r.subject.Engine.Describe(ctx, rank)
		if err != nil {
			return err
		}
		planned, backend = planned+d.KVPlanned, d.Backend
	}
	r.block = planned / int64(r.info.Blocks)
	sum, err := fingerprint(r.subject.Model)
	if err != nil {
		return err
	}
	taken := time.Now().UTC().Truncate(time.Millisecond)
	id, err := uuid.NewGen().NewV7AtTime(taken)
	if err != nil {
		return fmt.Errorf("capture id: %w", err)
	}
	r.c = &Capture{
		ID: id.String(), Taken: taken, Environment: describe(ctx), Topology: r.subject.Topology, Repeats: r.o.Repeats,
		Signature: Signature{
			Model: r.subject.Name, SHA256: sum, DType: r.subject.DType.String(), Backend: backend, Batches: r.o.Batches,
			Prompt: r.o.Prompt, New: r.o.New, Prefix: r.o.Prefix, Block: r.info.BlockSize, Context: r.info.Context,
		},
	}
	return nil
}

// ranks asks what ranks hold: all of it, once the programs are there.
func (r *run) ranks(ctx context.Context) error {
	for _, place := range (shard.Layout{TP: r.info.TP, PP: r.info.PP}).Places() {
		d, err := r.subject.Engine.Describe(ctx, place.Rank)
		if err != nil {
			return err
		}
		r.c.Ranks = append(r.c.Ranks, Rank{
			Rank: place.Rank, Stage: place.Stage(), Weights: d.Weights, KVPlanned: d.KVPlanned, KVHeld: d.KVHeld,
			Read: readBytes(r.subject.Model.Config, place, r.subject.DType),
		})
	}
	return nil
}

// readBytes is what a decode step reads of the weights of a rank. Of a table only some
// rows are read, unless it is the head, too.
func readBytes(c model.Config, p shard.Place, dtype tensor.DType) (n int64) {
	for _, param := range c.Params(p) {
		head := c.Tied && p.Last() && param.Axis >= 0 // positions are not divided
		if param.Kind == model.Table && !head {
			continue
		}
		size := int64(param.DType(dtype).Size())
		for _, d := range param.PartShape() {
			size *= int64(d)
		}
		n += size
	}
	return n
}

// measure times everything, repetition by repetition.
func (r *run) measure(ctx context.Context) error {
	stream, err := newStream(ctx, r.subject.Topology, r.subject.Processors)
	if err != nil {
		r.c.NoStream = err.Error()
	}
	meter := display.Progress(ctx, "measuring", (r.o.Repeats+1)*len(r.o.Batches))
	defer meter.Done()
	for _, size := range r.o.Batches {
		b, err := r.warm(ctx, size)
		if err != nil {
			return err
		}
		r.c.Batches = append(r.c.Batches, b)
		meter.Add(1)
	}
	for repeat := range r.o.Repeats {
		if stream != nil {
			rate, err := stream.run()
			if err != nil {
				return err
			}
			r.c.Stream = append(r.c.Stream, rate)
		}
		for k := range r.c.Batches {
			b := &r.c.Batches[(k+repeat)%len(r.c.Batches)]
			runtime.GC() // what the sample before has left is not this one's to clear up
			if err := r.sample(ctx, b); err != nil {
				return err
			}
			meter.Add(1)
		}
	}
	for i := range r.c.Batches {
		r.c.Batches[i].summarise()
	}
	return nil
}

// summarise derives what follows from the samples of each series.
func (b *Batch) summarise() {
	list := []*Series{&b.Prefill, &b.Decode, &b.Serve}
	if b.Overhead != nil {
		list = append(list, b.Overhead)
	}
	if b.Prefix != nil {
		list = append(list, &b.Prefix.Serve)
	}
	for _, s := range list {
		*s = newSeries(s.Samples)
	}
}

// warm runs a batch once, which compiles its programs, and counts what need not be
// timed.
func (r *run) warm(ctx context.Context, size int) (Batch, error) {
	b := r.newBatch(size)
	if err := r.sample(ctx, &b); err != nil {
		return b, err
	}
	used := b.KVUsed
	b = r.newBatch(size)
	b.KVUsed = used
	if r.o.Prefix == 0 {
		return b, nil
	}
	b.Prefix = new(Prefix)
	var err error
	if b.Prefix.Shared, err = r.count(ctx, size, sched.Options{}); err != nil {
		return b, err
	}
	b.Prefix.Unshared, err = r.count(ctx, size, sched.Options{NoSharing: true})
	return b, err
}

// newBatch is one without samples.
func (r *run) newBatch(size int) Batch {
	b := Batch{Size: size}
	if r.info.PP == 1 {
		b.Overhead = new(Series)
	} else {
		b.Bubbles = make([][]float64, r.info.TP*r.info.PP)
	}
	return b
}

// sample measures a batch once.
func (r *run) sample(ctx context.Context, b *Batch) error {
	if err := r.sampleEngine(ctx, b); err != nil {
		return err
	}
	took, err := r.serve(ctx, b.Size, sched.Options{}, func(*sched.Scheduler) {})
	if err != nil {
		return err
	}
	b.Serve.Samples = append(b.Serve.Samples, took.Seconds())
	if b.Prefix == nil {
		return nil
	}
	if took, err = r.serve(ctx, b.Size, sched.Options{NoSharing: true}, func(*sched.Scheduler) {}); err != nil {
		return err
	}
	b.Prefix.Serve.Samples = append(b.Prefix.Serve.Samples, took.Seconds())
	return nil
}
