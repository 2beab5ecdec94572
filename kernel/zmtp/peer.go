package zmtp

import (
	"net"
	"sync"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

var nullSecurity = null.Security()

// flushAbove is how many bytes of small messages are collected before a write
// although more wait.
const flushAbove = 64 << 10

// peer is one connection after its handshake.
type peer struct {
	id       Peer
	identity string
	conn     net.Conn
	guard    *guard
	zmtp     *zmq4.Conn
	queue    *queue
	written  chan struct{} // closed when the writer has ended

	ending sync.Once
	why    error // the first reason to disconnect

	topics map[string]int // XPUB: subscriptions, counted; guarded by the socket
}

// disconnect ends the connection and forgets what waits to be sent. The
// goroutine that reads the peer logs why, so that a Logger which blocks holds
// up nobody else.
func (p *peer) disconnect(why error) {
	p.ending.Do(func() { p.why = why })
	p.queue.close(true)
	p.conn.Close()
}

// write sends what is queued until the queue is closed and empty, and then
// tells the peer that nothing more will come.
func (p *peer) write() error {
	var batch [][][]byte
	for {
		messages, pongs, ok := p.queue.take(batch)
		if !ok {
			break
		}
		if err := p.send(messages, pongs); err != nil {
			return err
		}
		batch = messages
	}
	if c, ok := p.conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return p.conn.Close()
}

// send writes a batch in as few writes as its size allows.
func (p *peer) send(messages [][][]byte, pongs [][]byte) error {
	for _, context := range pongs {
		if err := p.zmtp.SendCmd(zmq4.CmdPong, context); err != nil {
			return err
		}
	}
	first, bytes := 0, int64(0) // of what is not yet written
	for i, frames := range messages {
		if err := p.zmtp.SendMsg(zmq4.NewMsgFrom(frames...)); err != nil {
			return err
		}
		bytes += byteSize(frames)
		if i < len(messages)-1 && p.guard.out.size < flushAbove {
			continue
		}
		if err := p.guard.out.flush(p.conn); err != nil {
			return err
		}
		p.queue.written(i+1-first, bytes)
		clear(messages[first : i+1])
		first, bytes = i+1, 0
	}
	return p.guard.out.flush(p.conn)
}
