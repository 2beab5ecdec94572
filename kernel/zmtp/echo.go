package zmtp

import "github.com/go-zeromq/zmq4"

// Echo is a REP socket that answers every request with itself: the heartbeat
// of a kernel. It needs no attention.
type Echo struct{ *server }

// ListenEcho binds an Echo.
func ListenEcho(endpoint string, opts Options) (*Echo, error) {
	s, err := listen(zmq4.Rep, endpoint, opts.withDefaults(signalLimits), echoing{})
	if err != nil {
		return nil, err
	}
	s.start()
	return &Echo{s}, nil
}

// echoing is the pattern of an Echo. All frames go back, so the envelope that
// REQ puts before its request does too.
type echoing struct{}

func (echoing) opened(*peer) error { return nil }

func (echoing) received(p *peer, frames [][]byte) error { return p.queue.put(frames, 1) }

func (echoing) subscribed(*peer, []byte, bool) {}

func (echoing) gone(*peer) {}
