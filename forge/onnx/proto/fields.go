package proto

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of a file. Their purpose is that a small file cannot take much memory;
// real models stay far below them.
const (
	maxDepth    = 64      // of messages within messages
	maxMessages = 2 << 20 // in all
)

// decoder counts what one file holds.
type decoder struct{ messages int }

// field is one field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	word   uint64 // of a varint or a fixed number
	bytes  []byte
	at     int // offset in the file
	depth  int // of the message that it is in
}

func (f field) fail(format string, args ...any) error {
	return fmt.Errorf("byte %d, field %d: %s", f.at, f.number, fmt.Sprintf(format, args...))
}

// message is a field's content as a message.
type message struct {
	bytes []byte
	at    int
	depth int
}

// each calls visit for the fields of a message in order.
func (d *decoder) each(m message, visit func(field) error) error {
	if d.messages++; d.messages > maxMessages {
		return fmt.Errorf("byte %d: there are more than %d messages", m.at, maxMessages)
	}
	if m.depth > maxDepth {
		return fmt.Errorf("byte %d: messages are nested more than %d deep", m.at, maxDepth)
	}
	at := m.at
	for b := m.bytes; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("byte %d: %w", at, protowire.ParseError(n))
		}
		f := field{number: number, kind: kind, at: at, depth: m.depth}
		size, err := f.read(b[n:])
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		b = b[n+size:]
		at += n + size
	}
	return nil
}

// read takes the value of a field from the front of b.
func (f *field) read(b []byte) (size int, err error) {
	switch f.kind {
	case protowire.VarintType:
		f.word, size = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var w uint32
		w, size = protowire.ConsumeFixed32(b)
		f.word = uint64(w)
	case protowire.Fixed64Type:
		f.word, size = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.bytes, size = protowire.ConsumeBytes(b)
	default:
		size = protowire.ConsumeFieldValue(f.number, f.kind, b)
	}
	if size < 0 {
		return 0, f.fail("%v", protowire.ParseError(size))
	}
	if f.kind == protowire.BytesType {
		f.at += size - len(f.bytes)
	}
	return size, nil
}

func (f field) want(kind protowire.Type) error {
	if f.kind != kind {
		return f.fail("has wire type %d instead of %d", f.kind, kind)
	}
	return nil
}

func (f field) message() message { return message{f.bytes, f.at, f.depth + 1} }

func (f field) raw(to *[]byte) error {
	*to = f.bytes
	return f.want(protowire.BytesType)
}

func (f field) text(to *string) error {
	*to = string(f.bytes)
	return f.want(protowire.BytesType)
}

func (f field) texts(to *[]string) error {
	*to = append(*to, string(f.bytes))
	return f.want(protowire.BytesType)
}

func (f field) strings(to *[][]byte) error {
	*to = append(*to, f.bytes)
	return f.want(protowire.BytesType)
}

func (f field) int(to *int64) error {
	*to = int64(f.word)
	return f.want(protowire.VarintType)
}

// numbers reads a repeated number: packed, or one of it.
func numbers[T any](f field, kind protowire.Type, width int, convert func(uint64) T, to *[]T) error {
	if f.kind == kind {
		*to = append(*to, convert(f.word))
		return nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	if width > 0 && len(f.bytes)%width != 0 {
		return f.fail("%d bytes are no whole number of %d-byte elements", len(f.bytes), width)
	}
	part := field{number: f.number, kind: kind, at: f.at}
	for b := f.bytes; len(b) > 0; {
		n, err := part.read(b)
		if err != nil {
			return err
		}
		*to = append(*to, convert(part.word))
		b = b[n:]
	}
	return nil
}

func (f field) ints(to *[]int64) error {
	return numbers(f, protowire.VarintType, 0, func(w uint64) int64 { return int64(w) }, to)
}

func (f field) floats(to *[]float32) error {
	return numbers(f, protowire.Fixed32Type, 4, asFloat, to)
}

func asFloat(w uint64) float32 { return math.Float32frombits(uint32(w)) }
