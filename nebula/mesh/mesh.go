// Package mesh is how the ranks of a job find one another and what connects them.
//
// Every rank listens. Rank 0 is where the others go first: they tell it who they
// are, and when all have come each gets the list of all, or all get the same
// error ([Join]). From then on any two ranks can have streams, one for each
// purpose they agree on ([Mesh.Stream]); the one between rank 0 and each other
// rank that the rendezvous used is the "command" stream ([Mesh.Command]).
//
// # Addresses
//
// No address is fixed, and none is of the kernel's ephemeral range. On one host a
// rank listens on an abstract unix socket, whose name comes from the user, the
// job, the epoch and the rank; it is gone with the process. Between hosts it
// listens on a TCP port from 20000 to 32000 that follows from the same, or on the
// next of a few when that is taken, and others try the same few.
//
// # Strangers
//
// Whoever connects says job, epoch, rank and purpose, and both sides prove that
// they know the job's token, which itself is never sent. Until that is done a
// connection has a few seconds and a few KiB; one that fails is closed and
// logged, and nothing else happens: it may be a port scanner, another job, or a
// rank of an earlier epoch. What a rank says after that is believed. Ranks that
// prove to be of the job but have another size or program make the rendezvous
// fail on all ranks.
//
// # Death
//
// The kernel ends the streams of a process that dies. A read from one then gives
// [*Lost] at once, which names the rank. A process that is stopped ends nothing:
// deadlines are for those who wait.
package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Config is a rank's place in a job. All but Rank, Host and Logf are the same on
// all ranks.
type Config struct {
	Job   string // names the job: 1 to 256 bytes
	Token []byte // a secret of the job's ranks; may be empty where every user of the host is trusted
	Epoch uint32 // the job's incarnation: ranks of another one are strangers
	Rank  int
	Size  int
	// Address is the host name or IP address of rank 0, without a port. Empty
	// means that all ranks are on this host.
	Address string
	// Digest is of the program that the ranks run, at most 64 bytes. Ranks with
	// different ones do not form a mesh.
	Digest []byte
	// Host identifies the host. Ranks of one host use unix sockets and can share
	// memory. Empty means that of this boot of this kernel and network namespace.
	Host string
	// Logf, if any, is told of connections that were dropped, and why.
	Logf func(format string, args ...any)
}

const (
	maxJob     = 256
	maxPurpose = 256
	maxDigest  = 64
	maxHost    = 256
	// MaxSize is the largest number of ranks.
	MaxSize = 4096
)

func (c *Config) check() error {
	switch {
	case c.Job == "" || len(c.Job) > maxJob:
		return fmt.Errorf("mesh: the name of a job has 1 to %d bytes, not %d", maxJob, len(c.Job))
	case c.Size < 1 || c.Size > MaxSize:
		return fmt.Errorf("mesh: a job has 1 to %d ranks, not %d", MaxSize, c.Size)
	case c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("mesh: there is no rank %d in a job of %d", c.Rank, c.Size)
	case len(c.Digest) > maxDigest:
		return fmt.Errorf("mesh: a program's digest has at most %d bytes, not %d", maxDigest, len(c.Digest))
	case len(c.Host) > maxHost:
		return fmt.Errorf("mesh: the identity of a host has at most %d bytes, not %d", maxHost, len(c.Host))
	}
	return nil
}

// Peer is what is known of a rank.
type Peer struct {
	Rank    int
	Host    string // identity
	Address string // "host:port" for other hosts; empty in a job on one host
	Shared  bool   // is on this host: memory can be shared with it
}

// Mesh is a rank's connections.
type Mesh struct {
	config   Config
	peers    []Peer
	commands []*Stream // by rank; on ranks other than 0 only that of rank 0
	ended    context.Context
	end      context.CancelFunc
	doors    sync.WaitGroup // goroutines that accept and greet

	mu        sync.Mutex
	listeners []net.Listener
	streams   map[*Stream]bool
	awaited   map[streamKey]chan *Stream
	joining   chan *arrival // rendezvous of rank 0, while it is on
	failure   error         // of the rendezvous
}

// streamKey names a stream among those of a rank.
type streamKey struct {
	peer    int
	purpose string
}

// Rank is this rank.
func (m *Mesh) Rank() int { return m.config.Rank }

// Size is the number of ranks.
func (m *Mesh) Size() int { return m.config.Size }

// Epoch is the job's incarnation.
func (m *Mesh) Epoch() uint32 { return m.config.Epoch }

// Job is the name of the job.
func (m *Mesh) Job() string { return m.config.Job }

// Peer describes a rank, which may be this one.
func (m *Mesh) Peer(rank int) Peer { return m.peers[rank] }

// Command is the stream between rank 0 and another: on rank 0 that of the given
// rank, elsewhere that of rank 0. It is nil from a rank to itself or where there
// is none.
func (m *Mesh) Command(rank int) *Stream { return m.commands[rank] }

// Close ends all streams and listens no more.
func (m *Mesh) Close() error {
	m.end()
	m.mu.Lock()
	listeners, streams := m.listeners, m.streams
	m.listeners, m.streams = nil, nil
	m.mu.Unlock()
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	for s := range streams {
		if err := s.Conn.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	m.doors.Wait()
	return errors.Join(errs...)
}

// adopt makes a stream of a connection, unless the mesh is closed.
func (m *Mesh) adopt(c net.Conn, peer int, purpose string) (*Stream, error) {
	s := &Stream{Conn: c, Peer: peer, Purpose: purpose, mesh: m}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams == nil {
		return nil, net.ErrClosed
	}
	m.streams[s] = true
	return s, nil
}

func (m *Mesh) forget(s *Stream) {
	m.mu.Lock()
	delete(m.streams, s)
	m.mu.Unlock()
}

func (m *Mesh) logf(format string, args ...any) {
	if m.config.Logf != nil {
		m.config.Logf("mesh: rank %d: "+format, append([]any{m.config.Rank}, args...)...)
	}
}
