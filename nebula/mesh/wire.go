package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic begins every connection. Its last digit is the version of the protocol.
const magic = "nebmesh1"

const (
	maxHello   = 2 << 10
	maxVerdict = 4 << 20 // a roster of MaxSize ranks fits
	nonceSize  = 32
)

// hello is what a rank says when it connects.
type hello struct {
	Epoch          uint32
	From, To, Size int
	Port           uint16 // on which From listens, 0 for none
	Job            string
	Purpose        string
	Host           string
	Digest         []byte
	Nonce          [nonceSize]byte
}

// encode appends the hello to b.
func (h *hello) encode(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, h.Epoch)
	for _, n := range []int{h.From, h.To, h.Size} {
		b = le.AppendUint32(b, uint32(n))
	}
	b = le.AppendUint16(b, h.Port)
	b = appendBytes(b, h.Job)
	b = appendBytes(b, h.Purpose)
	b = appendBytes(b, h.Host)
	b = appendBytes(b, h.Digest)
	return append(b, h.Nonce[:]...)
}

func parseHello(b []byte) (*hello, error) {
	r := &fields{b: b}
	h := &hello{
		Epoch: r.uint32(), From: r.rank(), To: r.rank(), Size: r.rank(), Port: r.uint16(),
		Job: string(r.bytes(maxJob)), Purpose: string(r.bytes(maxPurpose)), Host: string(r.bytes(maxHost)), Digest: r.bytes(maxDigest),
	}
	copy(h.Nonce[:], r.take(nonceSize))
	return h, r.done()
}

// verdict is the answer to a rank that has proven itself.
type verdict struct {
	Refusal string // why it is not let in; empty if it is
	Roster  []Peer // for those who come to the rendezvous: Host and Address by rank
}

func (v *verdict) encode() []byte {
	b := appendBytes(nil, v.Refusal)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v.Roster)))
	for _, p := range v.Roster {
		b = appendBytes(appendBytes(b, p.Host), p.Address)
	}
	return b
}

func parseVerdict(b []byte) (*verdict, error) {
	r := &fields{b: b}
	v := &verdict{Refusal: string(r.bytes(maxHello))}
	for i := range r.rank() {
		p := Peer{Rank: i, Host: string(r.bytes(maxHost)), Address: string(r.bytes(maxAddress))}
		if r.err != nil {
			break
		}
		v.Roster = append(v.Roster, p)
	}
	return v, r.done()
}

// maxAddress bounds "host:port".
const maxAddress = 300

// fields reads the parts of a message one after another. After the first that is
// not there all are empty.
type fields struct {
	b   []byte
	err error
}

var errMessage = errors.New("a message is not what it should be")

func (r *fields) take(n int) []byte {
	if r.err != nil || n > len(r.b) {
		r.err = errMessage
		return make([]byte, min(n, nonceSize))
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *fields) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *fields) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// rank is a rank or a number of ranks.
func (r *fields) rank() int {
	n := r.uint32()
	if n > MaxSize {
		r.err = errMessage
		return 0
	}
	return int(n)
}

func (r *fields) bytes(most int) []byte {
	n := int(r.uint16())
	if n > most {
		r.err = errMessage
	}
	if r.err != nil {
		return nil
	}
	return r.take(n)
}

// done reports what was missing or is left over.
func (r *fields) done() error {
	if r.err == nil && len(r.b) > 0 {
		return errMessage
	}
	return r.err
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	s = s[:min(len(s), 1<<16-1)]
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}

// writeFrame writes a message with its length before it.
func writeFrame(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// readFrame reads a message of at most so many bytes. Memory grows with what
// comes, not with what is announced.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if uint64(n) > uint64(most) {
		return nil, fmt.Errorf("a message of %d bytes, where %d are the most", n, most)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}
