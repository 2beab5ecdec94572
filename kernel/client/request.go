package client

import (
	"context"
	"fmt"
	"syscall"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// Send sends a message that has no reply, such as comm_msg, on "shell" or
// "control".
func (c *Client) Send(ctx context.Context, channel, msgType string, content any) error {
	m, err := c.session.New(msgType, nil, content)
	if err != nil {
		return err
	}
	return c.send(ctx, channel, m)
}

func (c *Client) send(ctx context.Context, channel string, m *wire.Message) error {
	var socket *zmtp.Dealer
	switch channel {
	case "shell":
		socket = c.shell
	case "control":
		socket = c.control
	case "stdin":
		socket = c.stdin
	default:
		return fmt.Errorf("client: no channel %q", channel)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.alive, func() { cancel(c.reason(nil)) })()
	c.opts.Trace(channel, true, m)
	if err := socket.Send(ctx, c.signer.Serialize(m)...); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return c.reason(cause)
		}
		return c.reason(err)
	}
	return nil
}

// call sends a request and returns where its reply will arrive; forget must be
// called when nobody waits any more.
func (c *Client) call(ctx context.Context, channel string, m *wire.Message) (reply <-chan *wire.Message, forget func(), err error) {
	id := m.Header.MsgID
	answer := make(chan *wire.Message, 1)
	c.mu.Lock()
	c.calls[id] = answer
	c.mu.Unlock()
	forget = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}
	if err := c.send(ctx, channel, m); err != nil {
		forget()
		return nil, nil, err
	}
	return answer, forget, nil
}

// await waits for a reply of the type that the request asks for.
func (c *Client) await(ctx context.Context, reply <-chan *wire.Message) (*wire.Message, error) {
	select {
	case m := <-reply:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.alive.Done():
	}
	select { // it may have come just before the end
	case m := <-reply:
		return m, nil
	default:
		return nil, c.reason(nil)
	}
}

// reply hands a message from shell or control to whoever waits for it.
func (c *Client) reply(m *wire.Message) {
	parent, err := m.ParentHeader()
	if err != nil {
		c.opts.Logger("dropped %s: %v", m.Header.MsgType, err)
		return
	}
	c.mu.Lock()
	answer := c.calls[parent.MsgID]
	delete(c.calls, parent.MsgID)
	c.mu.Unlock()
	if answer == nil {
		c.opts.Logger("dropped %s: nobody waits for it", m.Header.MsgType)
		return
	}
	answer <- m
}

// RequestError is a reply with status error to a request that is not
// execute_request.
type RequestError struct {
	Request string // its msg_type
	wire.Failure
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("client: %s: %s: %s", e.Request, e.Name, e.Value)
}

// Request sends any request on "shell" or "control" and decodes the content of
// its reply. It fails with a *RequestError when the kernel does.
func (c *Client) Request(ctx context.Context, channel, msgType string, content, reply any) error {
	m, err := c.session.New(msgType, nil, content)
	if err != nil {
		return err
	}
	answer, forget, err := c.call(ctx, channel, m)
	if err != nil {
		return err
	}
	defer forget()
	if m, err = c.await(ctx, answer); err != nil {
		return err
	}
	var status wire.ErrorReply
	if err := m.Decode(&status); err != nil {
		return err
	}
	if status.Status == wire.StatusError {
		return &RequestError{Request: msgType, Failure: status.Failure}
	}
	return m.Decode(reply)
}

// request is Request with a typed reply.
func request[R any](ctx context.Context, c *Client, channel, msgType string, content any) (*R, error) {
	reply := new(R)
	if err := c.Request(ctx, channel, msgType, content, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// KernelInfo asks what the kernel is.
func (c *Client) KernelInfo(ctx context.Context) (*wire.KernelInfoReply, error) {
	return request[wire.KernelInfoReply](ctx, c, "shell", "kernel_info_request", nil)
}

// Complete asks for completions at a cursor in code points.
func (c *Client) Complete(ctx context.Context, code string, cursor int) (*wire.CompleteReply, error) {
	return request[wire.CompleteReply](ctx, c, "shell", "complete_request", wire.CompleteRequest{Code: code, CursorPos: cursor})
}

// Inspect asks about the name at a cursor in code points; detail is 0 or 1.
func (c *Client) Inspect(ctx context.Context, code string, cursor, detail int) (*wire.InspectReply, error) {
	return request[wire.InspectReply](ctx, c, "shell", "inspect_request", wire.InspectRequest{Code: code, CursorPos: cursor, DetailLevel: detail})
}

// IsComplete asks whether code can run as it stands.
func (c *Client) IsComplete(ctx context.Context, code string) (*wire.IsCompleteReply, error) {
	return request[wire.IsCompleteReply](ctx, c, "shell", "is_complete_request", wire.IsCompleteRequest{Code: code})
}

// History asks for earlier inputs.
func (c *Client) History(ctx context.Context, req wire.HistoryRequest) (*wire.HistoryReply, error) {
	return request[wire.HistoryReply](ctx, c, "shell", "history_request", req)
}

// CommInfo lists open comms of a target; an empty one lists all.
func (c *Client) CommInfo(ctx context.Context, target string) (*wire.CommInfoReply, error) {
	return request[wire.CommInfoReply](ctx, c, "shell", "comm_info_request", wire.CommInfoRequest{TargetName: target})
}

// Interrupt stops the running cell: by interrupt_request, or by SIGINT if the
// command that was started asks for that.
func (c *Client) Interrupt(ctx context.Context) error {
	if c.process != nil && c.process.signals {
		if err := c.process.cmd.Process.Signal(syscall.SIGINT); err != nil {
			return fmt.Errorf("client: interrupt: %w", err)
		}
		return nil
	}
	_, err := request[wire.StatusReply](ctx, c, "control", "interrupt_request", nil)
	return err
}

// Shutdown asks the kernel to end, for good or to be started again. When Start
// ran it, Shutdown returns after its process ended. The client must still be
// closed.
func (c *Client) Shutdown(ctx context.Context, restart bool) error {
	_, err := request[wire.ShutdownReply](ctx, c, "control", "shutdown_request", wire.ShutdownRequest{Restart: restart})
	if err != nil || c.process == nil {
		return err
	}
	select {
	case <-c.process.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
