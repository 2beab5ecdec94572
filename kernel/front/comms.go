package front

import (
	"context"
	"fmt"
	"sync"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

const (
	// commOpenTime is how long the session has to take a comm_open; then it
	// counts as refused. Clients expect comm_close within half a second.
	commOpenTime = 400 * time.Millisecond
	maxComms     = 10_000 // open at one time
)

// comms are the open comms, opened from either side. The session owns the
// targets.
type comms struct {
	mu     sync.Mutex
	open   map[string]string        // comm_id to target_name
	asked  map[string]chan struct{} // comm_open waiting for the session; closed by its comm_close
	parent *wire.Message            // of the latest comm message of a client
}

func newComms() *comms {
	return &comms{open: map[string]string{}, asked: map[string]chan struct{}{}}
}

// commOpen asks the session to take a comm. One that it refuses or does not
// answer for is closed, as the protocol asks for unknown targets.
func (f *front) commOpen(ctx context.Context, r *request) (any, error) {
	var content wire.CommOpen
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	c := f.comms
	c.mu.Lock()
	c.parent = r.Message
	full := len(c.open) >= maxComms
	closed := make(chan struct{})
	c.asked[content.CommID] = closed
	c.mu.Unlock()
	taken := !full && f.offer(ctx, content, closed)
	c.mu.Lock()
	delete(c.asked, content.CommID)
	if taken {
		c.open[content.CommID] = content.TargetName
	}
	c.mu.Unlock()
	if !taken {
		f.iopub.now("comm_close", r.Message, wire.CommMessage{CommID: content.CommID})
	}
	return nil, nil
}

// offer reports whether the session takes a comm.
func (f *front) offer(ctx context.Context, content wire.CommOpen, closed <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, commOpenTime)
	defer cancel()
	go func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	s, err := f.supervisor.acquire(ctx)
	if err != nil {
		return false
	}
	answer, err := s.call(ctx, link.Comm, link.CommMessage{
		Type: "comm_open", ID: content.CommID, Target: content.TargetName, Data: content.Data,
	})
	return err == nil && answer.Kind == link.Ack
}

func (f *front) commMsg(_ context.Context, r *request) (any, error) {
	return nil, f.commForward(r, false)
}

func (f *front) commClose(_ context.Context, r *request) (any, error) {
	return nil, f.commForward(r, true)
}

// commForward passes a message of an open comm on. Others are ignored, as the
// comm may have been closed from this side in the meantime.
func (f *front) commForward(r *request, closing bool) error {
	var content wire.CommMessage
	if err := r.Decode(&content); err != nil {
		return err
	}
	c := f.comms
	c.mu.Lock()
	_, known := c.open[content.CommID]
	if closing {
		delete(c.open, content.CommID)
	}
	c.parent = r.Message
	c.mu.Unlock()
	s := f.supervisor.now()
	if !known || s == nil {
		return nil
	}
	return s.post(link.Comm, 0, 0, link.CommMessage{Type: r.Header.MsgType, ID: content.CommID, Data: content.Data})
}

// commFromSession publishes a comm message of the session.
func (f *front) commFromSession(frame link.Frame) error {
	body, err := link.Decode[link.CommMessage](frame)
	if err != nil {
		return err
	}
	c := f.comms
	c.mu.Lock()
	parent := c.parent
	refused := c.asked[body.ID]
	switch body.Type {
	case "comm_open":
		c.open[body.ID] = body.Target
	case "comm_close":
		delete(c.open, body.ID)
		if refused != nil {
			delete(c.asked, body.ID)
		}
	case "comm_msg":
	default:
		c.mu.Unlock()
		return fmt.Errorf("comm frame of type %q", body.Type)
	}
	c.mu.Unlock()
	if t := f.outputs.of(frame.Cell); t != nil && (frame.Cell != 0 || parent == nil) {
		parent = t.parent
	}
	switch {
	case body.Type == "comm_close" && refused != nil:
		close(refused) // commOpen publishes the close
	case body.Type == "comm_open":
		f.iopub.now(body.Type, parent, wire.CommOpen{CommID: body.ID, TargetName: body.Target, Data: body.Data})
	default:
		f.iopub.now(body.Type, parent, wire.CommMessage{CommID: body.ID, Data: body.Data})
	}
	return nil
}

// closeComms closes the comms of a session that ended.
func (f *front) closeComms() {
	c := f.comms
	c.mu.Lock()
	open, parent := c.open, c.parent
	c.open = map[string]string{}
	c.mu.Unlock()
	for id := range open {
		f.iopub.now("comm_close", parent, wire.CommMessage{CommID: id})
	}
}

func (f *front) commInfo(_ context.Context, r *request) (any, error) {
	var content wire.CommInfoRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	f.comms.mu.Lock()
	defer f.comms.mu.Unlock()
	reply := wire.CommInfoReply{Status: wire.StatusOK, Comms: map[string]wire.CommInfo{}}
	for id, target := range f.comms.open {
		if content.TargetName == "" || content.TargetName == target {
			reply.Comms[id] = wire.CommInfo{TargetName: target}
		}
	}
	return reply, nil
}
