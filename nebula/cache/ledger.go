package cache

import (
	"errors"
	"fmt"
	"slices"
)

// ErrTorn is returned by a ledger whose last step was begun and never finished:
// some layers may have its tokens and others not.
var ErrTorn = errors.New("the step before this one was begun and not finished, so that layers may hold different lengths")

// Append is what a step adds to the cache for one request.
type Append struct {
	Request uint64
	Pos     int // position of the first token
	Tokens  int // how many
	// Blocks is the block table; it reaches at least to the last token. A later
	// step of the request repeats it and may make it longer.
	Blocks []int32
}

// AppendError says which rule a row of a step breaks.
type AppendError struct {
	Row     int // index in the step
	Request uint64
	Reason  string
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("row %d (request %d): %s", e.Row, e.Request, e.Reason)
}

// Ledger is a rank's own record of what its cache holds. Before a step touches
// the cache, [Ledger.Check] holds it against the record:
//
//   - a known request continues exactly at its length, with the table it had;
//   - a new one starts at 0 or behind whole blocks that have been written;
//   - positions stay below the capacity and within the table, blocks in the pool;
//   - a block that is written belongs to this request alone, and no row of the
//     step reads what another row of it writes.
//
// A step appends the same tokens in all layers, so that one length stands for
// them all: [Ledger.Begin] opens the step, [Ledger.End] closes it once every
// layer has it, and a step that was left open makes the ledger refuse all more.
type Ledger struct {
	blockSize int
	capacity  int // most tokens of a request
	requests  map[uint64]*entry
	users     []int32 // how many known requests have the block in their table
	filled    []int32 // positions of the block that have been written, from its start
	open      bool

	// Marks of the step being checked; a mark is set when it equals the stamp.
	stamp   uint64
	written []uint64 // by a row of the step
	listed  []uint64 // in the table of the row being checked
	seen    map[uint64]bool
}

type entry struct {
	length int
	table  []int32
}

// NewLedger makes the record of an empty cache of blocks of blockSize tokens, in
// which a request may have up to capacity tokens.
func NewLedger(blocks, blockSize, capacity int) (*Ledger, error) {
	if err := checkSize(blocks, blockSize); err != nil {
		return nil, err
	}
	if capacity < 1 {
		return nil, fmt.Errorf("KV capacity of %d tokens: at least 1", capacity)
	}
	return &Ledger{
		blockSize: blockSize, capacity: capacity, requests: make(map[uint64]*entry),
		users: make([]int32, blocks), filled: make([]int32, blocks),
		written: make([]uint64, blocks), listed: make([]uint64, blocks),
		seen: make(map[uint64]bool),
	}, nil
}

// Check holds a step against the record and changes nothing. The error is an
// [*AppendError], or [ErrTorn].
func (l *Ledger) Check(step []Append) error {
	if l.open {
		return ErrTorn
	}
	l.stamp++
	writes := l.stamp
	clear(l.seen)
	for i, row := range step {
		reason := "has two rows in the step"
		if !l.seen[row.Request] {
			l.seen[row.Request] = true
			l.stamp++ // a fresh mark for this row's table; greater than writes
			reason = l.checkRow(row, writes)
		}
		if reason != "" {
			return &AppendError{Row: i, Request: row.Request, Reason: reason}
		}
	}
	for i, row := range step {
		for _, b := range row.Blocks[:row.Pos/l.blockSize] {
			if l.written[b] == writes {
				return &AppendError{i, row.Request, fmt.Sprintf("reads block %d, which another row of the step writes", b)}
			}
		}
	}
	return nil
}

// checkRow returns the rule that a row breaks, or "". It marks the blocks that
// the row takes or writes.
func (l *Ledger) checkRow(row Append, writes uint64) string {
	switch {
	case row.Tokens < 1:
		return fmt.Sprintf("appends %d tokens", row.Tokens)
	case row.Pos < 0 || row.Pos > l.capacity-row.Tokens || row.Tokens > l.capacity:
		return fmt.Sprintf("%d tokens at position %d exceed the capacity of %d", row.Tokens, row.Pos, l.capacity)
	}
	need := (row.Pos + row.Tokens + l.blockSize - 1) / l.blockSize
	most := (l.capacity + l.blockSize - 1) / l.blockSize
	if len(row.Blocks) < need || len(row.Blocks) > most {
		return fmt.Sprintf("%d tokens at position %d with a table of %d blocks; %d to %d of %d tokens each fit",
			row.Tokens, row.Pos, len(row.Blocks), need, most, l.blockSize)
	}
	for _, b := range row.Blocks {
		if b < 0 || int(b) >= len(l.users) {
			return fmt.Sprintf("block %d is not in the pool of %d", b, len(l.users))
		}
		if l.listed[b] == l.stamp {
			return fmt.Sprintf("block %d is twice in its table", b)
		}
		l.listed[b] = l.stamp
	}
	held := row.Blocks[:row.Pos/l.blockSize]
	if e := l.requests[row.Request]; e != nil {
		if reason := l.checkKnown(e, row); reason != "" {
			return reason
		}
		held = row.Blocks[:len(e.table)]
	} else if reason := l.checkNew(row); reason != "" {
		return reason
	}
	return l.claim(row, len(held), writes)
}

func (l *Ledger) checkKnown(e *entry, row Append) string {
	switch {
	case row.Pos != e.length:
		return fmt.Sprintf("continues at position %d, but holds %d tokens", row.Pos, e.length)
	case len(row.Blocks) < len(e.table) || !slices.Equal(row.Blocks[:len(e.table)], e.table):
		return fmt.Sprintf("its table is %v and was %v", row.Blocks, e.table)
	}
	return ""
}

func (l *Ledger) checkNew(row Append) string {
	if row.Pos%l.blockSize != 0 {
		return fmt.Sprintf("is new and starts at position %d, which is not the end of a block of %d", row.Pos, l.blockSize)
	}
	for _, b := range row.Blocks[:row.Pos/l.blockSize] {
		if int(l.filled[b]) != l.blockSize {
			return fmt.Sprintf("shares block %d, of which %d of %d positions have been written", b, l.filled[b], l.blockSize)
		}
	}
	return ""
}

// claim marks the blocks that the row takes (from index held on) and the one
// that it goes on writing, and checks that they are its own.
func (l *Ledger) claim(row Append, held int, writes uint64) string {
	first := min(held, row.Pos/l.blockSize)
	for i, b := range row.Blocks[first:] {
		others := l.users[b]
		if first+i < held {
			others-- // itself
		}
		if others > 0 {
			return fmt.Sprintf("writes block %d, which another request has", b)
		}
		if l.written[b] == writes {
			return fmt.Sprintf("writes block %d, which another row of the step writes", b)
		}
		l.written[b] = writes
	}
	return ""
}

// Begin checks a step and enters it. Nothing is entered when it is refused.
func (l *Ledger) Begin(step []Append) error {
	if err := l.Check(step); err != nil {
		return err
	}
	for _, row := range step {
		l.enter(row)
	}
	l.open = true
	return nil
}

func (l *Ledger) enter(row Append) {
	e := l.requests[row.Request]
	if e == nil {
		shared := row.Pos / l.blockSize
		e = &entry{table: slices.Clone(row.Blocks[:shared])}
		for _, b := range e.table {
			l.users[b]++
		}
		l.requests[row.Request] = e
	}
	for _, b := range row.Blocks[len(e.table):] {
		l.users[b]++
		l.filled[b] = 0
		e.table = append(e.table, b)
	}
	e.length = row.Pos + row.Tokens
	for i := row.Pos / l.blockSize; i*l.blockSize < e.length; i++ {
		l.filled[e.table[i]] = int32(min(l.blockSize, e.length-i*l.blockSize))
	}
}

// End says that every layer has the step that was begun.
func (l *Ledger) End() { l.open = false }

// Release forgets a request and reports whether it was known. Its full blocks
// may be shared until another request writes them.
func (l *Ledger) Release(request uint64) bool {
	e := l.requests[request]
	if e == nil {
		return false
	}
	for _, b := range e.table {
		l.users[b]--
	}
	delete(l.requests, request)
	return true
}

// Len returns the tokens that a request has in the cache, 0 when it is unknown.
func (l *Ledger) Len(request uint64) int {
	if e := l.requests[request]; e != nil {
		return e.length
	}
	return 0
}

// Requests returns how many requests are known.
func (l *Ledger) Requests() int { return len(l.requests) }

// Held returns how many blocks known requests have, each counted once.
func (l *Ledger) Held() int {
	held := 0
	for _, n := range l.users {
		if n > 0 {
			held++
		}
	}
	return held
}
