// Package client drives a Jupyter kernel: the notebook runner, tests and
// benchmarks talk to ours, and to others, through it.
package client

import (
	"context"
	"errors"

	"forgekernel/kernel/wire"
)

// Errors.
var (
	ErrClosed = errors.New("client: closed")
	ErrDead   = errors.New("client: kernel died")
)

// Command says how to start a kernel process.
type Command struct {
	Argv []string // {connection_file} is replaced
	Env  []string // added to the environment, KEY=value
	Dir  string   // working directory; empty is the caller's
}

// Options configure a client. The zero value means the defaults.
type Options struct {
	Username string
	// Input answers input_request; nil refuses stdin.
	Input func(ctx context.Context, prompt string, password bool) (string, error)
	// Trace sees every message that is sent or received. It must be quick.
	Trace func(channel string, sent bool, m *wire.Message)
	// Logger is told of dropped messages and connections. Nil discards.
	Logger func(format string, args ...any)
	// IPC makes Start use Unix sockets instead of tcp.
	IPC bool
}

// Client is a connection to one kernel. Its methods may be called at once.
type Client struct{}

// Start runs a kernel and waits until it is ready: it answered
// kernel_info_request and its IOPub messages arrive.
func Start(ctx context.Context, cmd Command, opts Options) (*Client, error) { panic("skeleton") }

// Attach connects to a running kernel by its connection file and waits until
// it is ready.
func Attach(ctx context.Context, connectionFile string, opts Options) (*Client, error) {
	panic("skeleton")
}

// Info is the kernel_info_reply received while connecting.
func (c *Client) Info() wire.KernelInfoReply { panic("skeleton") }

// ExecuteOptions are the parts of execute_request beside the code. The zero
// value runs an ordinary notebook cell that stops the queue on an error.
type ExecuteOptions struct {
	Silent          bool
	NoHistory       bool
	ContinueOnError bool
	UserExpressions map[string]string
}

// Execution is a running cell.
type Execution struct{}

// Execute sends a cell.
func (c *Client) Execute(ctx context.Context, code string, opts ExecuteOptions) (*Execution, error) {
	panic("skeleton")
}

// Outputs delivers the cell's IOPub messages in order, status messages left
// out; it is closed after idle, or when the kernel died. It must be received
// from.
func (e *Execution) Outputs() <-chan *wire.Message { panic("skeleton") }

// Reply waits for execute_reply.
func (e *Execution) Reply(ctx context.Context) (*wire.ExecuteResponse, error) { panic("skeleton") }

// Wait collects the outputs until idle and returns them with the reply.
func (e *Execution) Wait(ctx context.Context) ([]*wire.Message, *wire.ExecuteResponse, error) {
	panic("skeleton")
}

// KernelInfo asks for kernel_info.
func (c *Client) KernelInfo(ctx context.Context) (*wire.KernelInfoReply, error) { panic("skeleton") }

// Complete asks for completions at a cursor in code points.
func (c *Client) Complete(ctx context.Context, code string, cursor int) (*wire.CompleteReply, error) {
	panic("skeleton")
}

// Inspect asks about the name at a cursor in code points.
func (c *Client) Inspect(ctx context.Context, code string, cursor, detail int) (*wire.InspectReply, error) {
	panic("skeleton")
}

// IsComplete asks whether code can run as it stands.
func (c *Client) IsComplete(ctx context.Context, code string) (*wire.IsCompleteReply, error) {
	panic("skeleton")
}

// History asks for earlier inputs.
func (c *Client) History(ctx context.Context, req wire.HistoryRequest) (*wire.HistoryReply, error) {
	panic("skeleton")
}

// CommInfo lists open comms; an empty target lists all.
func (c *Client) CommInfo(ctx context.Context, target string) (*wire.CommInfoReply, error) {
	panic("skeleton")
}

// Request sends any request on "shell" or "control" and decodes the content of
// its reply.
func (c *Client) Request(ctx context.Context, channel, msgType string, content, reply any) error {
	panic("skeleton")
}

// Interrupt stops the running cell by interrupt_request on control.
func (c *Client) Interrupt(ctx context.Context) error { panic("skeleton") }

// Shutdown asks the kernel to end and, when this client started it, waits for
// its process.
func (c *Client) Shutdown(ctx context.Context, restart bool) error { panic("skeleton") }

// Close disconnects and ends a process that Start began.
func (c *Client) Close() error { panic("skeleton") }
