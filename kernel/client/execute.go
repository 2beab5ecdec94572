package client

import (
	"context"

	"forgekernel/kernel/wire"
)

// ExecuteOptions are the parts of execute_request beside the code. The zero
// value runs an ordinary notebook cell that stops the queue on an error.
type ExecuteOptions struct {
	Silent          bool
	NoHistory       bool
	ContinueOnError bool
	UserExpressions map[string]string
	Subshell        string // id of a subshell; empty is the main shell
}

// Execution is a cell that was sent.
type Execution struct {
	client  *Client
	ctx     context.Context
	id      string
	outputs chan *wire.Message
	reply   <-chan *wire.Message
	forget  func()
}

// Execute sends a cell. When ctx ends, outputs of the cell are dropped from
// then on; the cell itself goes on.
func (c *Client) Execute(ctx context.Context, code string, opts ExecuteOptions) (*Execution, error) {
	m, err := c.session.New("execute_request", nil, wire.ExecuteRequest{
		Code:            code,
		Silent:          opts.Silent,
		StoreHistory:    !opts.Silent && !opts.NoHistory,
		UserExpressions: opts.UserExpressions,
		AllowStdin:      c.opts.Input != nil,
		StopOnError:     !opts.ContinueOnError,
	})
	if err != nil {
		return nil, err
	}
	if opts.Subshell != "" {
		if err := m.SetSubshell(opts.Subshell); err != nil {
			return nil, err
		}
	}
	e := &Execution{client: c, ctx: ctx, id: m.Header.MsgID, outputs: make(chan *wire.Message, 64)}
	c.mu.Lock()
	if err := c.err; err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.cells[e.id] = e
	c.mu.Unlock()
	if e.reply, e.forget, err = c.call(ctx, "shell", m); err != nil {
		c.mu.Lock()
		delete(c.cells, e.id)
		c.mu.Unlock()
		return nil, err
	}
	return e, nil
}

// Outputs delivers the cell's IOPub messages in order, status messages left
// out. It is closed after idle, or when the client ends. It must be received
// from while ctx of Execute lasts: what is not holds up the outputs of every
// cell, and finally the kernel.
func (e *Execution) Outputs() <-chan *wire.Message { return e.outputs }

// Reply waits for execute_reply. A cell that fails has a reply with status
// "error", not an error here. Only one call may wait.
func (e *Execution) Reply(ctx context.Context) (*wire.ExecuteResponse, error) {
	defer e.forget()
	m, err := e.client.await(ctx, e.reply)
	if err != nil {
		return nil, err
	}
	reply := new(wire.ExecuteResponse)
	if err := m.Decode(reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// Wait collects the outputs until idle and returns them with the reply. After
// an error they are what arrived before it.
func (e *Execution) Wait(ctx context.Context) ([]*wire.Message, *wire.ExecuteResponse, error) {
	var outputs []*wire.Message
	for {
		select {
		case m, more := <-e.outputs:
			if !more {
				reply, err := e.Reply(ctx)
				return outputs, reply, err
			}
			outputs = append(outputs, m)
		case <-ctx.Done():
			e.forget()
			return outputs, nil, ctx.Err()
		}
	}
}

// output handles a message from IOPub. It runs in one goroutine, the only one
// to send to or close an Outputs channel.
func (c *Client) output(m *wire.Message) {
	select {
	case <-c.heard:
	default:
		close(c.heard)
	}
	parent, err := m.ParentHeader()
	if err != nil {
		c.opts.Logger("dropped %s: %v", m.Header.MsgType, err)
		return
	}
	c.mu.Lock()
	e := c.cells[parent.MsgID]
	c.mu.Unlock()
	if e == nil {
		return // of another client, or no cell's
	}
	if m.Header.MsgType != "status" {
		select {
		case e.outputs <- m:
		case <-e.ctx.Done():
		case <-c.alive.Done():
		}
		return
	}
	var status wire.Status
	if err := m.Decode(&status); err != nil {
		c.opts.Logger("dropped status: %v", err)
		return
	}
	if status.ExecutionState == wire.Idle {
		c.mu.Lock()
		delete(c.cells, e.id)
		c.mu.Unlock()
		close(e.outputs)
	}
}

// abandon closes the outputs of all cells, when IOPub has ended.
func (c *Client) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.cells {
		close(e.outputs)
		delete(c.cells, id)
	}
}

// input answers an input_request without holding up its channel.
func (c *Client) input(m *wire.Message) {
	if m.Header.MsgType != "input_request" || c.opts.Input == nil {
		c.opts.Logger("stdin: dropped %s", m.Header.MsgType)
		return
	}
	var prompt wire.InputRequest
	if err := m.Decode(&prompt); err != nil {
		c.opts.Logger("stdin: dropped: %v", err)
		return
	}
	c.running.Go(func() {
		reply := wire.InputReply{Status: wire.StatusOK}
		value, err := c.opts.Input(c.alive, prompt.Prompt, prompt.Password)
		if err != nil {
			reply.Status = wire.StatusError
			c.opts.Logger("stdin: %v", err)
		}
		reply.Value = value
		answer, err := c.session.New("input_reply", m, reply)
		if err == nil {
			err = c.send(c.alive, "stdin", answer)
		}
		if err != nil {
			c.opts.Logger("stdin: %v", err)
		}
	})
}
