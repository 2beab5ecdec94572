package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/trace"
)

// Description is what one rank has and runs.
type Description struct {
	Rank      int                  `json:"rank"`
	Stage     int                  `json:"stage"`
	TPRank    int                  `json:"tp_rank"`
	FromLayer int                  `json:"from_layer"`
	ToLayer   int                  `json:"to_layer"` // behind the last
	KVHeads   int                  `json:"kv_heads"`
	Weights   int64                `json:"weights_bytes"`
	KVPlanned int64                `json:"kv_planned_bytes"` // 2 * layers * blocks * block size * KV heads * head dim * element
	KVHeld    int64                `json:"kv_held_bytes"`    // of the tensors that there are
	KVUsed    int64                `json:"kv_used_bytes"`    // of the blocks that requests have
	Backend   string               `json:"backend"`
	Programs  []ProgramDescription `json:"programs"`
	Notes     []string             `json:"notes,omitempty"`
}

// ProgramDescription is one compiled program of a rank.
type ProgramDescription struct {
	Name     string           `json:"name"` // "8x1": rows and tokens
	Rows     int              `json:"rows"`
	Tokens   int              `json:"tokens"`
	Logits   bool             `json:"logits"`
	Graph    string           `json:"graph"` // listing of what runs
	Nodes    int              `json:"nodes"`
	Planned  int64            `json:"planned_bytes"` // of intermediate values
	Naive    int64            `json:"naive_bytes"`   // of these without reuse of memory
	Kernels  []backend.Kernel `json:"kernels"`
	Notes    []string         `json:"notes,omitempty"`
	Compiled time.Duration    `json:"compiled_ns"`
}

// Explain is the description as text, with the graph of each program.
func (d Description) Explain() string {
	var b strings.Builder
	b.WriteString(d.Table().Text())
	fmt.Fprintf(&b, "rank %d is TP rank %d of stage %d: layers %d to %d, %d KV heads\n", d.Rank, d.TPRank, d.Stage, d.FromLayer, d.ToLayer-1, d.KVHeads)
	fmt.Fprintf(&b, "weights %s; cache planned %s, held %s, used %s\n", display.FormatBytes(d.Weights),
		display.FormatBytes(d.KVPlanned), display.FormatBytes(d.KVHeld), display.FormatBytes(d.KVUsed))
	for _, note := range d.Notes {
		fmt.Fprintln(&b, note)
	}
	for _, p := range d.Programs {
		fmt.Fprintf(&b, "\nprogram %s\n%s", p.Name, p.Graph)
		if list := p.fromRecords(); list != "" {
			fmt.Fprintf(&b, "kernels from records of tuning:\n%s", list)
		}
	}
	return b.String()
}

// Table lists the programs.
func (d Description) Table() display.Table {
	t := display.Table{
		Title: fmt.Sprintf("Programs of rank %d", d.Rank),
		Columns: []display.Column{{Name: "program"}, {Name: "nodes"}, {Name: "kernels"}, {Name: "intermediate", Align: display.AlignRight},
			{Name: "without reuse", Align: display.AlignRight}, {Name: "compiled", Unit: "ms"}},
	}
	for _, p := range d.Programs {
		run := 0
		for _, k := range p.Kernels {
			run += bit(k.Kernel != "")
		}
		t.Rows = append(t.Rows, []any{p.Name, p.Nodes, run, display.FormatBytes(p.Planned), display.FormatBytes(p.Naive), p.Compiled.Milliseconds()})
	}
	return t
}

// Display shows the table and, as text, everything.
func (d Description) Display() display.Bundle { return d.Table().Display() }

// describe looks at the rank, from the goroutine that has its ledger.
func (r *rank) describe() (Description, error) {
	c := r.model.Config
	from, to := r.place.Layers(c.Layers)
	first, end := r.place.KVHeads(c.Dims())
	geometry := cache.Geometry{Layers: to - from, Heads: end - first, HeadDim: c.HeadDim, DType: r.sizes.dtype}
	d := Description{
		Rank: r.place.Rank, Stage: r.place.Stage(), TPRank: r.place.TPRank(), FromLayer: from, ToLayer: to, KVHeads: end - first,
		KVPlanned: geometry.Planned(r.sizes.blocks, r.sizes.blockSize), Backend: r.backend.Name(), Notes: r.notes,
	}
	d.KVHeld = r.pools.bytes
	d.KVUsed = geometry.Planned(r.ledger.Held(), r.sizes.blockSize)
	r.mu.Lock()
	list := make([]*program, 0, len(r.programs))
	for _, p := range r.programs {
		list = append(list, p)
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *program) int { return a.bucket.compare(b.bucket) })
	weights := make(map[*tensor.Tensor]int64)
	for _, p := range list {
		described, err := p.describe()
		if err != nil {
			return d, err
		}
		d.Programs = append(d.Programs, described)
		p.weigh(weights)
	}
	for _, n := range weights {
		d.Weights += n
	}
	return d, nil
}

func (p *program) describe() (ProgramDescription, error) {
	g := p.exe.Graph()
	laid, err := plan.New(g.Clone(), plan.Options{})
	if err != nil {
		return ProgramDescription{}, err
	}
	return ProgramDescription{
		Name: p.name, Rows: p.rows, Tokens: p.bucket.tokens, Logits: p.bucket.logits, Graph: g.Listing(), Nodes: len(p.exe.Kernels()),
		Planned: laid.Planned, Naive: laid.Naive, Kernels: p.exe.Kernels(), Notes: backend.Notes(p.exe), Compiled: p.took,
	}, nil
}

// weigh notes the constants of a program. Those that programs share are one tensor.
func (p *program) weigh(list map[*tensor.Tensor]int64) {
	for _, n := range p.exe.Graph().Nodes {
		if n.Op.Class == ir.Constant {
			t := n.Tensor("value")
			list[t] = int64(t.Len()) * int64(t.DType().Size())
		}
	}
}

// What a rank can be asked to tell.
const (
	tellDescription = iota
	tellTrace
)

// tell answers what rank 0 asks: what concerns steps when those before are done.
func (w *worker) tell(body []byte) error {
	what := (&words{b: body}).next()
	answer := func() error {
		raw, err := w.telling(what)
		if err != nil {
			return err
		}
		return w.conn.send(kindTold, raw)
	}
	if what != tellTrace {
		return answer()
	}
	return w.enqueue(job{done: func(error) {
		if err := answer(); err != nil {
			w.fail(opCommand, err)
		}
	}})
}

func (r *rank) telling(what uint32) ([]byte, error) {
	switch what {
	case tellDescription:
		d, err := r.describe()
		if err != nil {
			return nil, err
		}
		return json.Marshal(d)
	case tellTrace:
		return r.traced().MarshalBinary()
	}
	return nil, errors.New("rank 0 asks for what there is not")
}

// traced is what the rank has recorded.
func (r *rank) traced() trace.Rank {
	t := trace.Rank{Rank: r.place.Rank, Stage: r.place.Stage()}
	t.Regions, t.Lost = r.rec.Regions()
	return t
}

// ask lets a rank tell something. One question at a time is under way.
func (l *Leader) ask(ctx context.Context, rank int, what uint32) ([]byte, error) {
	if rank == 0 {
		if err := l.take(ctx, l.turn); err != nil {
			return nil, err
		}
		defer func() { <-l.turn }()
		if what == tellTrace {
			if err := l.settle(ctx); err != nil {
				return nil, err
			}
		}
		return l.self.telling(what)
	}
	if err := l.take(ctx, l.asking); err != nil {
		return nil, err
	}
	defer func() { <-l.asking }()
	p := l.peers[rank]
	if err := p.send(kindTell, binary.LittleEndian.AppendUint32(nil, what)); err != nil {
		l.blame(rank, opCommand, err)
		return nil, l.health.err()
	}
	select { // whatever becomes of ctx: the answer to the next question is another one
	case raw := <-p.told:
		return raw, nil
	case <-l.health.over:
		return nil, l.health.err()
	}
}

// settle waits until rank 0 is done with the steps that it was sent, whose results may be
// there before it has recorded them; not after the end of the engine.
func (l *Leader) settle(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case l.queue <- job{done: func(err error) { done <- err }}:
	case <-l.health.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-done:
	case <-l.health.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Describe tells what a rank has and runs.
func (l *Leader) Describe(ctx context.Context, rank int) (Description, error) {
	var d Description
	if rank < 0 || rank >= len(l.peers) {
		return d, fmt.Errorf("there is no rank %d; there are ranks 0 to %d", rank, len(l.peers)-1)
	}
	raw, err := l.ask(ctx, rank, tellDescription)
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(raw, &d)
}

// Trace is what all ranks have recorded, with their clocks. There is nothing in it
// unless [Options] ask for it.
func (l *Leader) Trace(ctx context.Context) ([]trace.Rank, error) {
	list := make([]trace.Rank, len(l.peers))
	for r := range list {
		raw, err := l.ask(ctx, r, tellTrace)
		if err == nil {
			err = list[r].UnmarshalBinary(raw)
		}
		if err != nil {
			return nil, err
		}
		if p := l.peers[r]; p != nil {
			p.mu.Lock()
			list[r].Offset, list[r].Error = p.clock.Offset()
			p.mu.Unlock()
		}
	}
	return list, nil
}
