package zmtp

import (
	"errors"
	"time"
)

// Errors.
var (
	ErrClosed  = errors.New("zmtp: socket is closed")
	ErrNoPeer  = errors.New("zmtp: peer is not connected")
	ErrStalled = errors.New("zmtp: peer does not read what is sent to it")
)

// Peer names a client of a socket. A client that announces an identity keeps
// its Peer when it connects again.
type Peer uint64

// Message is a received message. It owns its frames.
type Message struct {
	Peer   Peer
	Frames [][]byte
}

// Limits bound what one peer may send after its handshake.
type Limits struct {
	Frame   int64 // bytes of one frame
	Message int64 // bytes of one message
	Frames  int   // frames of one message
}

// Options configure a socket. The zero value means the defaults.
type Options struct {
	// Logger is told, in one line each, why connections end and what was
	// dropped. Nil discards.
	Logger func(format string, args ...any)
	// Limits default to 256 MiB a frame and message and 2048 frames; for sockets
	// that expect only subscriptions or heartbeats to 64 KiB and 16 frames.
	Limits Limits
	// LargeBytes bounds what messages above 1 MiB of all peers together occupy
	// until Recv takes them; a message that does not fit ends its connection.
	// Default 512 MiB.
	LargeBytes int64
	// MaxPeers bounds connections, those that have not shaken hands included.
	// Default 512.
	MaxPeers int
	// HandshakeTimeout bounds the time from accept or dial to READY. Default 10 s.
	HandshakeTimeout time.Duration
	// QueueMessages and QueueBytes bound what waits for one peer. A message that
	// finds nothing waiting is accepted whatever its size, and QueueBytes is then
	// for those behind it. Defaults 8192 and 64 MiB.
	QueueMessages int
	QueueBytes    int64
	// StallLimit is how long a peer may accept less than 64 KiB while something
	// waits for it. Default 30 s.
	StallLimit time.Duration
	// Linger bounds how long Close waits for queues to empty. Default 1 s.
	Linger time.Duration
	// Welcome makes the message that an XPub sends a peer when it subscribes to
	// a topic, ahead of anything published; nil sends none. It must not call the
	// socket.
	Welcome func(topic []byte) [][]byte
}

const mib = 1 << 20

// withDefaults fills what is unset.
func (o Options) withDefaults(limits Limits) Options {
	if o.Logger == nil {
		o.Logger = func(string, ...any) {}
	}
	setDefault(&o.Limits.Frame, limits.Frame)
	setDefault(&o.Limits.Message, limits.Message)
	setDefault(&o.Limits.Frames, limits.Frames)
	setDefault(&o.LargeBytes, 512*mib)
	setDefault(&o.MaxPeers, 512)
	setDefault(&o.HandshakeTimeout, 10*time.Second)
	setDefault(&o.QueueMessages, 8192)
	setDefault(&o.QueueBytes, 64*mib)
	setDefault(&o.StallLimit, 30*time.Second)
	setDefault(&o.Linger, time.Second)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

var (
	messageLimits = Limits{Frame: 256 * mib, Message: 256 * mib, Frames: 2048}
	signalLimits  = Limits{Frame: 64 << 10, Message: 64 << 10, Frames: 16}
)
