package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Join takes this rank to the others of its job and returns when all have come.
// Its error, when ctx ends before that, names the ranks that are missing.
func Join(ctx context.Context, c Config) (*Mesh, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Host == "" {
		var err error
		if c.Host, err = HostIdentity(); err != nil {
			return nil, err
		}
	}
	m := &Mesh{
		config: c, commands: make([]*Stream, c.Size),
		streams: map[*Stream]bool{}, awaited: map[streamKey]chan *Stream{},
	}
	m.ended, m.end = context.WithCancel(context.Background())
	if c.Size == 1 {
		m.peers = []Peer{{Host: c.Host, Shared: true}}
		return m, nil
	}
	if c.Rank == 0 {
		m.joining = make(chan *arrival)
	}
	err := m.listen()
	if err == nil && c.Rank == 0 {
		err = m.gather(ctx)
	} else if err == nil {
		err = m.report(ctx)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// gather is the rendezvous on rank 0: when all have come they get the roster, and
// when all have that they may begin.
func (m *Mesh) gather(ctx context.Context) error {
	came := make([]*arrival, m.config.Size)
	err := m.collect(ctx, came)
	m.mu.Lock()
	m.joining, m.failure = nil, err
	m.mu.Unlock()
	if err == nil {
		m.peers = m.roster(came)
		err = m.tell(came, &verdict{Roster: m.peers})
	}
	for rank, a := range came {
		if a != nil && err == nil {
			err = m.confirm(rank, a.conn)
		}
	}
	v := &verdict{}
	if err != nil {
		v.Refusal = err.Error()
	}
	if e := m.tell(came, v); err == nil {
		err = e
	}
	for rank, a := range came {
		if a != nil && err == nil {
			err = m.command(rank, a.conn)
		}
		if a != nil && err != nil {
			a.conn.Close()
		}
	}
	return err
}

// command makes the stream of a rendezvous that is over.
func (m *Mesh) command(rank int, c net.Conn) (err error) {
	if err = c.SetDeadline(time.Time{}); err == nil {
		m.commands[rank], err = m.adopt(c, rank, command)
	}
	return err
}

// tell sends all ranks that have come the same. The error is the first one.
func (m *Mesh) tell(came []*arrival, v *verdict) error {
	var first error
	limit := time.Now().Add(patience)
	for rank, a := range came {
		if a == nil {
			continue
		}
		if err := decide(a.conn, v, limit); err != nil && first == nil {
			first = &Lost{rank, command, err}
		}
	}
	return first
}

// collect waits for all other ranks.
func (m *Mesh) collect(ctx context.Context, came []*arrival) error {
	for missing := m.config.Size - 1; missing > 0; missing-- {
		select {
		case a := <-m.joining:
			if err := m.admit(a, came); err != nil {
				_ = decide(a.conn, &verdict{Refusal: err.Error()}, time.Now().Add(patience))
				a.conn.Close()
				if !errors.Is(err, errTwice) {
					return err
				}
				m.logf("a connection was dropped: %v", err)
				missing++
				continue
			}
			came[a.From] = a
		case <-ctx.Done():
			lost := &Missing{Job: m.config.Job, Epoch: m.config.Epoch, Err: context.Cause(ctx)}
			for rank, a := range came {
				if rank > 0 && a == nil {
					lost.Ranks = append(lost.Ranks, rank)
				}
			}
			return lost
		}
	}
	return nil
}

// Missing is a rendezvous to which ranks did not come.
type Missing struct {
	Job   string
	Epoch uint32
	Ranks []int // at least one, ascending
	Err   error // the cause that ended the wait
}

func (e *Missing) Error() string {
	var names []string
	for _, rank := range e.Ranks {
		names = append(names, strconv.Itoa(rank))
	}
	return fmt.Sprintf("mesh: rendezvous of job %q, epoch %d: ranks did not come: %s: %v", e.Job, e.Epoch, strings.Join(names, ", "), e.Err)
}

func (e *Missing) Unwrap() error { return e.Err }

// Misfit is a rank of the job that cannot be part of it.
type Misfit struct {
	Rank   int
	Reason string
}

func (e *Misfit) Error() string { return "mesh: " + e.Reason }

// errTwice is a second process that says it is a rank.
var errTwice = errors.New("there is one already")

// admit says why a rank of the job does not fit.
func (m *Mesh) admit(a *arrival, came []*arrival) error {
	c := &m.config
	switch {
	case a.Size != c.Size:
		return &Misfit{a.From, fmt.Sprintf("rank %d is of a job of %d ranks, rank 0 of one of %d", a.From, a.Size, c.Size)}
	case a.From < 1 || a.From >= c.Size:
		return fmt.Errorf("mesh: there is no rank %d to join a job of %d", a.From, c.Size)
	case !bytes.Equal(a.Digest, c.Digest):
		return &Misfit{a.From, fmt.Sprintf("ranks 0 and %d run different programs: %x and %x", a.From, c.Digest, a.Digest)}
	case came[a.From] != nil:
		return fmt.Errorf("mesh: a process says it is rank %d: %w", a.From, errTwice)
	}
	return nil
}

// roster is all ranks as others reach them.
func (m *Mesh) roster(came []*arrival) []Peer {
	list := make([]Peer, m.config.Size)
	list[0] = Peer{Host: m.config.Host, Shared: true}
	if port := m.port(); port != 0 {
		list[0].Address = net.JoinHostPort(m.config.Address, strconv.Itoa(int(port)))
	}
	for rank, a := range came {
		if a == nil {
			continue
		}
		p := Peer{Rank: rank, Host: a.Host, Shared: a.Host == m.config.Host}
		if from, ok := a.conn.RemoteAddr().(*net.TCPAddr); ok {
			host := from.IP.String()
			if from.IP.IsLoopback() { // it is on this host, which others know by its name
				host = m.config.Address
			}
			p.Address = net.JoinHostPort(host, strconv.Itoa(int(a.Port)))
		}
		list[rank] = p
	}
	return list
}

// confirm waits until a rank has taken the roster.
func (m *Mesh) confirm(rank int, c net.Conn) error {
	var one [1]byte
	if _, err := c.Read(one[:]); err != nil {
		return fmt.Errorf("mesh: the rendezvous failed: %w", &Lost{rank, command, err})
	}
	return nil
}

// report is the rendezvous on the other ranks.
func (m *Mesh) report(ctx context.Context) error {
	c, err := m.find(ctx)
	if err != nil {
		return err
	}
	stop := closeAtEnd(ctx, c)
	err = c.SetDeadline(time.Time{}) // others may come much later
	if err == nil {
		m.peers, err = takeRoster(c, m.config.Size)
	}
	if !stop() {
		err = fmt.Errorf("mesh: rank 0 waits for other ranks: %w", context.Cause(ctx))
	}
	if err != nil {
		c.Close()
		var r refusal
		if errors.As(err, &r) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("mesh: the rendezvous failed: %w", &Lost{0, command, err})
	}
	for i := range m.peers {
		m.peers[i].Shared = m.peers[i].Host == m.config.Host
	}
	return m.command(0, c)
}

// takeRoster hears who all are, and then that all have heard it.
func takeRoster(c net.Conn, size int) ([]Peer, error) {
	v, err := hear(c)
	if err == nil && len(v.Roster) != size {
		err = errMessage
	}
	if err != nil {
		return nil, err
	}
	_, lost := c.Write([]byte{1})
	if _, err := hear(c); err != nil { // also where rank 0 has said why and closed
		return nil, errors.Join(err, lost)
	}
	return v.Roster, nil
}

// find connects to rank 0, which may not be there yet.
func (m *Mesh) find(ctx context.Context) (net.Conn, error) {
	network, addresses := "unix", []string{socketName(m.config.Job, m.config.Epoch, 0)}
	if m.config.Address != "" {
		network, addresses = "tcp", nil
		for _, port := range ports(m.config.Job, m.config.Epoch, 0) {
			addresses = append(addresses, net.JoinHostPort(m.config.Address, strconv.Itoa(port)))
		}
	}
	pause := 2 * time.Millisecond
	for {
		var reasons []string
		for _, address := range addresses {
			c, err := m.dial(ctx, network, address, 0, command)
			if err == nil {
				return c, nil
			}
			if ctx.Err() != nil {
				break
			}
			if !slices.Contains(reasons, err.Error()) {
				reasons = append(reasons, err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return nil, &Missing{m.config.Job, m.config.Epoch, []int{0}, fmt.Errorf("%w: %s", context.Cause(ctx), strings.Join(reasons, "; "))}
		case <-time.After(pause):
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}
