// Package client drives a Jupyter kernel: the notebook runner, tests and
// benchmarks talk to ours, and to others, through it.
//
// A [Client] has the five connections of a kernel. [Start] also runs the
// process. Both it and [Attach] return when the kernel is ready, which means
// that all sockets are connected, that it answered kernel_info_request, and
// that a message arrived on IOPub, so the subscription is in place and no
// output can be missed. A kernel with iopub_welcome says so itself; others are
// asked again until a status comes.
//
// When the kernel dies, because its process ended or its heartbeat stopped,
// everything that waits fails with a [*DeadError].
package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// Errors.
var (
	ErrClosed = errors.New("client: closed")
	// ErrDead is wrapped by every DeadError.
	ErrDead = errors.New("client: the kernel died")
)

// DeadError says how the kernel died.
type DeadError struct {
	Reason string // "exit status 1", "no heartbeat for 10s"
	Output string // the last that its process printed, if Start ran it
}

func (e *DeadError) Error() string {
	text := fmt.Sprintf("%v: %s", ErrDead, e.Reason)
	if e.Output != "" {
		text += "\n" + e.Output
	}
	return text
}

// Unwrap returns ErrDead.
func (e *DeadError) Unwrap() error { return ErrDead }

// Options configure a client. The zero value means the defaults.
type Options struct {
	Username string
	// Input answers input_request; nil refuses stdin.
	Input func(ctx context.Context, prompt string, password bool) (string, error)
	// Trace sees every message that is sent or received: the channel is shell,
	// control, stdin or iopub. It may be called from several goroutines and must
	// be quick.
	Trace func(channel string, sent bool, m *wire.Message)
	// Logger is told of dropped messages and connections. Nil discards.
	Logger func(format string, args ...any)
	// IPC makes Start use Unix sockets instead of tcp.
	IPC bool
	// HeartbeatLimit is how long a kernel may leave heartbeats unanswered before
	// it counts as dead. Default 10 s.
	HeartbeatLimit time.Duration
}

func (o Options) withDefaults() Options {
	if o.Trace == nil {
		o.Trace = func(string, bool, *wire.Message) {}
	}
	if o.Logger == nil {
		o.Logger = func(string, ...any) {}
	}
	if o.HeartbeatLimit == 0 {
		o.HeartbeatLimit = 10 * time.Second
	}
	return o
}

// Client is a connection to one kernel. Its methods may be called at once.
type Client struct {
	opts    Options
	session *wire.Session
	signer  *wire.Signer
	process *process // nil when attached
	info    wire.KernelInfoReply

	shell, control, stdin *zmtp.Dealer
	iopub                 *zmtp.Sub
	beat                  *zmtp.Req

	alive   context.Context // ends with err
	end     context.CancelFunc
	running sync.WaitGroup
	heard   chan struct{} // closed when a first IOPub message arrived

	mu    sync.Mutex
	err   error // why the client ended
	calls map[string]chan<- *wire.Message
	cells map[string]*Execution
}

// Start runs a kernel and waits until it is ready. When ctx ends first the
// process is killed.
func Start(ctx context.Context, cmd Command, opts Options) (*Client, error) {
	p, connection, err := startProcess(cmd, opts.IPC)
	if err != nil {
		return nil, err
	}
	defer p.release()
	return connect(ctx, connection, p, opts)
}

// Attach connects to a running kernel by its connection file and waits until
// it is ready.
func Attach(ctx context.Context, connectionFile string, opts Options) (*Client, error) {
	connection, err := wire.ReadConnection(connectionFile)
	if err != nil {
		return nil, err
	}
	return connect(ctx, connection, nil, opts)
}

func connect(ctx context.Context, connection *wire.Connection, p *process, opts Options) (*Client, error) {
	c := &Client{
		opts:    opts.withDefaults(),
		session: wire.NewSession(opts.Username),
		process: p,
		heard:   make(chan struct{}),
		calls:   make(map[string]chan<- *wire.Message),
		cells:   make(map[string]*Execution),
	}
	c.alive, c.end = context.WithCancel(context.Background())
	err := c.dial(connection)
	if err == nil {
		c.receive()
		err = c.ready(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.running.Go(c.monitor)
	return c, nil
}

// dial creates the sockets, which connect in the background.
func (c *Client) dial(connection *wire.Connection) (err error) {
	if c.signer, err = connection.Signer(); err != nil {
		return err
	}
	opts := zmtp.Options{Logger: c.opts.Logger}
	id := []byte(uuid.NewString()) // shell and stdin share it: that is how input_request finds us
	dealer := func(port int, identity []byte) (d *zmtp.Dealer) {
		if err == nil {
			d, err = zmtp.DialDealer(connection.Endpoint(port), identity, opts)
		}
		return d
	}
	c.shell = dealer(connection.ShellPort, id)
	c.stdin = dealer(connection.StdinPort, id)
	c.control = dealer(connection.ControlPort, []byte(uuid.NewString()))
	if err != nil {
		return err
	}
	if c.iopub, err = zmtp.DialSub(connection.Endpoint(connection.IOPubPort), []string{""}, opts); err != nil {
		return err
	}
	c.beat, err = zmtp.DialReq(connection.Endpoint(connection.HBPort), opts)
	return err
}

// receive starts what handles messages from the kernel.
func (c *Client) receive() {
	for name, recv := range map[string]func(context.Context) ([][]byte, error){
		"shell": c.shell.Recv, "control": c.control.Recv, "stdin": c.stdin.Recv, "iopub": c.iopub.Recv,
	} {
		handle := c.reply
		switch name {
		case "stdin":
			handle = c.input
		case "iopub":
			handle = c.output
		}
		c.running.Go(func() {
			c.loop(name, recv, handle)
			if name == "iopub" {
				c.abandon()
			}
		})
	}
	if c.process != nil {
		c.running.Go(func() {
			select {
			case <-c.process.exited:
				c.lastWords()
				c.fail(c.process.deadError())
			case <-c.alive.Done():
			}
		})
	}
}

// loop receives on one channel until the client ends.
func (c *Client) loop(channel string, recv func(context.Context) ([][]byte, error), handle func(*wire.Message)) {
	for {
		frames, err := recv(c.alive)
		if err != nil {
			return
		}
		m, err := c.signer.Parse(frames)
		if err != nil {
			c.opts.Logger("%s: dropped a message: %v", channel, err)
			continue
		}
		c.opts.Trace(channel, false, m)
		handle(m)
	}
}

// ready waits for the kernel as the package comment says.
func (c *Client) ready(ctx context.Context) error {
	if err := c.connected(ctx); err != nil {
		return fmt.Errorf("client: waiting for the kernel: %w", c.reason(err))
	}
	const longest = 2 * time.Second
	for patience := 100 * time.Millisecond; ; patience = min(2*patience, longest) {
		attempt, cancel := context.WithTimeout(ctx, longest)
		info, err := c.KernelInfo(attempt)
		cancel()
		if err == nil {
			c.info = *info
			select {
			case <-c.heard:
				return nil
			case <-ctx.Done():
			case <-c.alive.Done():
			case <-time.After(patience):
				continue
			}
			err = c.reason(ctx.Err())
		}
		if ctx.Err() != nil {
			return fmt.Errorf("client: waiting for the kernel: %w", ctx.Err())
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// connected waits for the sockets that nothing is asked of at first: a cell may
// want input at once.
func (c *Client) connected(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.alive, cancel)()
	if err := c.stdin.Connected(ctx); err != nil {
		return err
	}
	return c.control.Connected(ctx)
}

// Info is the kernel_info_reply that was received while connecting.
func (c *Client) Info() wire.KernelInfoReply { return c.info }

// fail ends the client; only the first reason counts.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		c.end()
	}
}

// reason is why the client ended, or other when it has not.
func (c *Client) reason(other error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return other
}

// Close disconnects, kills a process that Start began and is still running,
// and waits for all goroutines of the client.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	if c.process != nil {
		c.process.kill()
	}
	var closing sync.WaitGroup // each may linger
	for _, d := range []*zmtp.Dealer{c.shell, c.control, c.stdin} {
		if d != nil {
			closing.Go(func() { d.Close() })
		}
	}
	if c.iopub != nil {
		closing.Go(func() { c.iopub.Close() })
	}
	if c.beat != nil {
		closing.Go(func() { c.beat.Close() })
	}
	closing.Wait()
	c.running.Wait()
	return nil
}
