package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"sync"
	"unicode/utf8"
)

// Scheme is the only signature scheme there is in practice.
const Scheme = "hmac-sha256"

// Limits of a received message. The socket layer bounds its size in bytes.
const (
	// MaxIdentities bounds the routing frames before the delimiter.
	MaxIdentities = 16
	// MaxBuffers bounds the binary frames after the content.
	MaxBuffers = 1024
	// ReplayWindow is the number of signatures that a Signer remembers in order
	// to refuse a message that was recorded and sent again.
	ReplayWindow = 4096
)

// Errors that Parse wraps.
var (
	ErrNoDelimiter = errors.New("wire: no <IDS|MSG> delimiter")
	ErrTruncated   = errors.New("wire: message has fewer than five frames after the delimiter")
	ErrTooLarge    = errors.New("wire: message exceeds a limit")
	ErrSignature   = errors.New("wire: bad signature")
	ErrReplay      = errors.New("wire: signature was used before")
)

// DecodeError reports JSON that is not what the protocol asks for.
type DecodeError struct {
	Part string // "header", "parent_header", "metadata", "content" or a content's type
	Err  error
}

func (e *DecodeError) Error() string { return fmt.Sprintf("wire: bad %s: %v", e.Part, e.Err) }

// Unwrap returns the reason.
func (e *DecodeError) Unwrap() error { return e.Err }

var delimiter = []byte("<IDS|MSG>")

// Signer signs and verifies messages with one connection's key. It may be used
// by several goroutines.
type Signer struct {
	macs sync.Pool // of hash.Hash; nil New means unsigned

	mu     sync.Mutex
	seen   map[[sha256.Size]byte]struct{} // nil: replays are not looked for
	recent [][sha256.Size]byte            // ring of the keys of seen
	next   int
}

// NewSigner returns the signer for a connection file's signature_scheme and
// key. An empty key means that messages are unsigned, whatever the scheme.
func NewSigner(scheme string, key []byte) (*Signer, error) {
	s := &Signer{}
	if len(key) == 0 {
		return s, nil
	}
	if scheme != Scheme {
		return nil, fmt.Errorf("wire: unknown signature scheme %q, want %q", scheme, Scheme)
	}
	key = bytes.Clone(key)
	s.macs.New = func() any { return hmac.New(sha256.New, key) }
	return s, nil
}

// RefuseReplays makes Parse fail with ErrReplay on a signature that is among
// the last [ReplayWindow] accepted ones. A kernel wants it: whoever can record
// a local connection could otherwise run a cell twice. It has no effect on
// unsigned messages.
func (s *Signer) RefuseReplays() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = make(map[[sha256.Size]byte]struct{})
}

// Serialize returns the frames of m.
func (s *Signer) Serialize(m *Message) [][]byte {
	frames := make([][]byte, 0, len(m.Identities)+6+len(m.Buffers))
	frames = append(frames, m.Identities...)
	frames = append(frames, delimiter, nil, m.RawHeader, m.Parent, m.Metadata, m.Content)
	n := len(m.Identities)
	if s.macs.New != nil {
		sum := s.sum(frames[n+2 : n+6])
		frames[n+1] = hex.AppendEncode(nil, sum[:])
	}
	return append(frames, m.Buffers...)
}

// Parse turns received frames into a message that shares their memory. Its
// errors wrap ErrNoDelimiter, ErrTruncated, ErrTooLarge, ErrSignature,
// ErrReplay or a *DecodeError. The content is checked to be a JSON object, not
// against the schema of its type.
func (s *Signer) Parse(frames [][]byte) (*Message, error) {
	i, err := findDelimiter(frames)
	if err != nil {
		return nil, err
	}
	rest := frames[i+1:]
	if len(rest) < 5 {
		return nil, fmt.Errorf("%w: %d", ErrTruncated, len(rest))
	}
	if n := len(rest) - 5; n > MaxBuffers {
		return nil, fmt.Errorf("%w: %d buffers, at most %d", ErrTooLarge, n, MaxBuffers)
	}
	if err := s.verify(rest[0], rest[1:5]); err != nil {
		return nil, err
	}
	m := &Message{Identities: frames[:i], RawHeader: rest[1], Parent: rest[2], Metadata: rest[3], Content: rest[4], Buffers: rest[5:]}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func findDelimiter(frames [][]byte) (int, error) {
	for i, f := range frames {
		if bytes.Equal(f, delimiter) {
			return i, nil
		}
		if i == MaxIdentities {
			return 0, fmt.Errorf("%w: more than %d frames before the delimiter", ErrTooLarge, MaxIdentities)
		}
	}
	return 0, ErrNoDelimiter
}

// check validates the JSON frames and decodes the header.
func (m *Message) check() error {
	parts := [...]struct {
		name string
		raw  []byte
	}{{"header", m.RawHeader}, {"parent_header", m.Parent}, {"metadata", m.Metadata}, {"content", m.Content}}
	for _, p := range parts {
		if !utf8.Valid(p.raw) {
			return &DecodeError{Part: p.name, Err: errors.New("not UTF-8")}
		}
		if !isObject(p.raw) {
			return &DecodeError{Part: p.name, Err: errors.New("not a JSON object")}
		}
		if !json.Valid(p.raw) {
			return &DecodeError{Part: p.name, Err: errors.New("not valid JSON")}
		}
	}
	if err := json.Unmarshal(m.RawHeader, &m.Header); err != nil {
		return &DecodeError{Part: "header", Err: err}
	}
	if m.Header.MsgType == "" {
		return &DecodeError{Part: "header", Err: errors.New("no msg_type")}
	}
	return nil
}

func (s *Signer) sum(parts [][]byte) [sha256.Size]byte {
	mac := s.macs.Get().(hash.Hash)
	defer s.macs.Put(mac)
	mac.Reset()
	for _, p := range parts {
		mac.Write(p)
	}
	return [sha256.Size]byte(mac.Sum(nil))
}

func (s *Signer) verify(signature []byte, parts [][]byte) error {
	if s.macs.New == nil {
		return nil
	}
	want := s.sum(parts)
	var got [sha256.Size]byte
	if len(signature) != hex.EncodedLen(sha256.Size) {
		return ErrSignature
	}
	if _, err := hex.Decode(got[:], signature); err != nil || !hmac.Equal(got[:], want[:]) {
		return ErrSignature
	}
	return s.remember(want)
}

// remember records an accepted signature, forgetting the oldest one.
func (s *Signer) remember(sum [sha256.Size]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		return nil
	}
	if _, dup := s.seen[sum]; dup {
		return ErrReplay
	}
	if len(s.recent) < ReplayWindow {
		s.recent = append(s.recent, sum)
	} else {
		delete(s.seen, s.recent[s.next])
		s.recent[s.next] = sum
		s.next = (s.next + 1) % ReplayWindow
	}
	s.seen[sum] = struct{}{}
	return nil
}
