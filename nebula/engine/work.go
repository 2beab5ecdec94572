package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// work is a step on its way through one rank. All that it refers to is memory of
// its own, which is used again.
type work struct {
	number uint64
	hash   uint32 // of the message, by which ranks tell that they got the same
	rows   []Row
	passes []pass
	ints   []int32 // tokens and blocks of the rows
	order  []int   // rows of the passes
}

// A step is little-endian words of 32 bits: its number in two, the number of passes
// and of rows, then each row (request in two, position, 1 if it wants logits and 2 more
// if their lead is enough, number of tokens and of blocks, tokens, blocks), then each
// pass (rows, tokens, 1 for logits, number of rows in it, their indexes).
const (
	rowWords  = 6
	passWords = 4
)

// encodeStep appends the message of a step that has been cut. Blocks beyond a row's
// tokens are left out.
func encodeStep(b []byte, number uint64, rows []Row, passes []pass, blockSize int) []byte {
	le := binary.LittleEndian
	word := func(n int) { b = le.AppendUint32(b, uint32(n)) }
	b = le.AppendUint64(b, number)
	word(len(rows))
	word(len(passes))
	for i := range rows {
		r := &rows[i]
		blocks := blocksFor(r.Pos+len(r.Tokens), blockSize)
		b = le.AppendUint64(b, r.Request)
		word(r.Pos)
		word(bit(r.Logits) | bit(r.Lead)<<1)
		word(len(r.Tokens))
		word(blocks)
		b = appendInts(b, r.Tokens)
		b = appendInts(b, r.Blocks[:blocks])
	}
	for i := range passes {
		p := &passes[i]
		word(p.rows)
		word(p.tokens)
		word(bit(p.logits))
		word(len(p.of))
		for _, row := range p.of {
			word(row)
		}
	}
	return b
}

func blocksFor(tokens, blockSize int) int { return (tokens + blockSize - 1) / blockSize }

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

func appendInts(b []byte, list []int32) []byte {
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// words reads a message word by word. Past its end it gives zeros and is cut.
type words struct {
	b   []byte
	cut bool
}

func (w *words) next() uint32 {
	if len(w.b) < 4 {
		w.cut, w.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint32(w.b)
	w.b = w.b[4:]
	return v
}

func (w *words) long() uint64 { return uint64(w.next()) | uint64(w.next())<<32 }

// count reads a number of things that take so many words each, at least; there are
// no more than the message has room for.
func (w *words) count(each int) int {
	n := w.next()
	if int64(n)*int64(each)*4 > int64(len(w.b)) {
		w.cut, w.b = true, nil
		return 0
	}
	return int(n)
}

// number reads an int that is not negative.
func (w *words) number() int { return int(w.next() & (1<<31 - 1)) }

// ints appends so many numbers to a list.
func (w *words) ints(list []int32, n int) []int32 {
	for range n {
		list = append(list, int32(w.next()))
	}
	return list
}

var (
	errCut  = errors.New("the message of a step is cut short")
	errMore = errors.New("there is more in the message of a step after its end")
)

// decode reads the message of a step. It checks the form: that rows and passes fit
// the message, and that the passes are of programs that there can be and have each
// row once. Whether the rows make sense is the ledger's to say.
func (w *work) decode(b []byte, c *cutter) error {
	w.hash = crc32.Checksum(b, castagnoli)
	in := words{b: b}
	w.number = in.long()
	rows := in.count(rowWords)
	passes := in.count(passWords)
	if rows > c.maxRows || passes > rows {
		return fmt.Errorf("the message of a step has %d rows in %d passes; a step has at most %d rows", rows, passes, c.maxRows)
	}
	// All numbers fit in these, so that slices of them stay valid.
	w.ints, w.order = grown(w.ints, len(in.b)/4), grown(w.order, rows)
	w.rows, w.passes = w.rows[:0], w.passes[:0]
	for range rows {
		w.decodeRow(&in)
	}
	for range passes {
		if err := w.decodePass(&in, c); err != nil {
			return err
		}
	}
	switch {
	case in.cut:
		return errCut
	case len(in.b) > 0:
		return errMore
	case len(w.order) != rows:
		return fmt.Errorf("the passes of a step have %d of its %d rows", len(w.order), rows)
	}
	return nil
}

// grown is an empty list with room for n.
func grown[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, 0, n)
	}
	return list[:0]
}

func (w *work) decodeRow(in *words) {
	r := Row{Request: in.long(), Pos: in.number()}
	wants := in.next()
	r.Logits, r.Lead = wants&1 != 0, wants&2 != 0
	tokens, blocks := in.count(1), in.count(1)
	at := len(w.ints)
	w.ints = in.ints(w.ints, tokens)
	r.Tokens = w.ints[at:len(w.ints):len(w.ints)]
	if in.cut {
		return
	}
	at = len(w.ints)
	w.ints = in.ints(w.ints, min(blocks, len(in.b)/4))
	r.Blocks = w.ints[at:len(w.ints):len(w.ints)]
	w.rows = append(w.rows, r)
}

func (w *work) decodePass(in *words, c *cutter) error {
	p := pass{bucket: bucket{rows: in.number(), tokens: in.number(), logits: in.next() == 1}}
	n := in.count(1)
	if in.cut {
		return errCut
	}
	if !c.has(p.bucket) || n > p.rows || n > cap(w.order)-len(w.order) {
		return fmt.Errorf("the message of a step has %d rows for program %v", n, p.bucket)
	}
	at := len(w.order)
	for range n {
		i := in.number()
		if i >= len(w.rows) || len(w.rows[i].Tokens) > p.tokens {
			return fmt.Errorf("the message of a step gives row %d to program %v", i, p.bucket)
		}
		for _, other := range w.order {
			if other == i {
				return fmt.Errorf("the message of a step has row %d in two places", i)
			}
		}
		w.order = append(w.order, i)
	}
	p.of = w.order[at:len(w.order):len(w.order)]
	w.passes = append(w.passes, p)
	return nil
}
