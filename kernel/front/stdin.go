package front

import (
	"context"
	"sync"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// inputs are the questions that cells have put to the person.
type inputs struct {
	front *front

	mu      sync.Mutex
	pending []*question
}

type question struct {
	session *session
	cell    uint64
	seq     uint64 // of the session's request
	id      string // of our input_request
	client  string // identity of the client that was asked
}

// ask sends an input_request to the client that sent the cell. When the
// question cannot be put, the cell gets an error at once.
func (i *inputs) ask(s *session, frame link.Frame, r *request, allowed bool) {
	refuse := func(why string) {
		s.post(link.Input, frame.Cell, frame.Seq, link.InputValue{Error: why})
	}
	prompt, err := link.Decode[link.InputPrompt](frame)
	if err != nil {
		refuse(err.Error())
		return
	}
	if !allowed {
		refuse("this client cannot be asked for input (allow_stdin is false)")
		return
	}
	f := i.front
	identity := f.sockets.shell.Identity(r.peer)
	peer, ok := f.sockets.stdin.PeerByIdentity(identity)
	if len(identity) == 0 || !ok {
		refuse("this client has no stdin connection to be asked for input")
		return
	}
	m, err := f.session.New("input_request", r.Message, wire.InputRequest{Prompt: prompt.Prompt, Password: prompt.Password})
	if err != nil {
		refuse(err.Error())
		return
	}
	s.pipes.drain()
	f.outputs.of(frame.Cell).flush(false)
	q := &question{session: s, cell: frame.Cell, seq: frame.Seq, id: m.Header.MsgID, client: string(identity)}
	i.mu.Lock()
	i.pending = append(i.pending, q)
	i.mu.Unlock()
	if err := f.sockets.stdin.Send(peer, f.signer.Serialize(m)...); err != nil {
		if i.take(func(p *question) bool { return p == q }) != nil {
			refuse("the client is gone: " + err.Error())
		}
	}
}

// take removes and returns the first pending question that matches.
func (i *inputs) take(match func(*question) bool) *question {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, q := range i.pending {
		if match(q) {
			i.pending = append(i.pending[:n:n], i.pending[n+1:]...)
			return q
		}
	}
	return nil
}

// receive hands answers to the session until the socket closes.
func (i *inputs) receive(ctx context.Context) {
	f := i.front
	for {
		m, err := f.sockets.stdin.Recv(ctx)
		if err != nil {
			return
		}
		parsed, err := f.signer.Parse(m.Frames)
		if err != nil {
			f.dropped("stdin", err)
			continue
		}
		f.guarded(func() (any, error) {
			i.answer(parsed, string(f.sockets.stdin.Identity(m.Peer)))
			return nil, nil
		})
	}
}

// answer matches an input_reply with its question: by the request it names or,
// for clients that name none, the oldest one put to that client.
func (i *inputs) answer(m *wire.Message, client string) {
	f := i.front
	var reply wire.InputReply
	if err := m.Decode(&reply); err != nil || m.Header.MsgType != "input_reply" {
		f.dropped("stdin", &failure{"BadRequest", "not an input_reply"})
		return
	}
	parent, err := m.ParentHeader()
	if err != nil {
		f.dropped("stdin", err)
		return
	}
	q := i.take(func(q *question) bool {
		return q.client == client && (q.id == parent.MsgID || parent.MsgID == "")
	})
	if q == nil {
		return // an answer to a question that was withdrawn
	}
	value := link.InputValue{Value: reply.Value}
	if reply.Status == wire.StatusError {
		value = link.InputValue{Error: "the client did not answer"}
	}
	q.session.post(link.Input, q.cell, q.seq, value)
}

// cancel withdraws every question.
func (i *inputs) cancel(why string) {
	i.mu.Lock()
	pending := i.pending
	i.pending = nil
	i.mu.Unlock()
	for _, q := range pending {
		q.session.post(link.Input, q.cell, q.seq, link.InputValue{Error: why})
	}
}

// forget drops the questions of a cell that is over.
func (i *inputs) forget(s *session, cell uint64) {
	match := func(q *question) bool { return q.session == s && q.cell == cell }
	for i.take(match) != nil {
	}
}
