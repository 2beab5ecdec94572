package colab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"forgekernel/install/bundle"
	"forgekernel/install/tool"
)

// These are the commands of a job, the same whether they are run or shown.

func (j *Job) new() []string {
	args := []string{"new", "-s", j.Session}
	if j.GPU != "" {
		args = append(args, "--gpu", j.GPU)
	}
	return args
}

func (j *Job) prepare() []string {
	return []string{"exec", "-s", j.Session, "-f", j.script(prepareName)}
}

func (j *Job) upload(name string) []string {
	return []string{"upload", "-s", j.Session, j.local(name), remote + "/" + name}
}

func (j *Job) exec() []string {
	seconds := strconv.Itoa(int(j.Timeout / time.Second))
	return []string{"exec", "-s", j.Session, "-f", j.script(bootstrapName), "--timeout", seconds}
}

func (j *Job) download() []string {
	return []string{"download", "-s", j.Session, archive, j.packed()}
}

func (j *Job) stop() []string { return []string{"stop", "-s", j.Session} }

// Show prints the commands that Run would run, in their order.
func (j *Job) Show(w io.Writer) error {
	list := [][]string{j.new(), j.prepare()}
	for _, name := range j.names() {
		list = append(list, j.upload(name))
	}
	for _, args := range append(list, j.exec(), j.download(), j.stop()) {
		if _, err := fmt.Fprintln(w, tool.Quote(append([]string{"colab"}, args...))); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "# the last one also after any of the others has failed or was interrupted")
	return err
}

// oldest is the first version of the tool whose sessions outlive some minutes.
var oldest = [3]int{0, 6, 0}

// Client is Google's tool.
type Client struct {
	Log io.Writer // gets what happens, and what the job prints

	tool *tool.Tool
}

// NewClient finds the tool and examines its version.
func NewClient(ctx context.Context, log io.Writer) (*Client, error) {
	t, err := tool.Find("colab", "install it (pip install google-colab-cli)")
	if err != nil {
		return nil, err
	}
	return &Client{log, t}, t.Require(ctx, "version", oldest)
}

// StopTime bounds the stop of a session, which Run does also after an interrupt.
const StopTime = time.Minute

// Run runs a job that was written, and returns its result when it went well. The session
// is stopped in any case.
func (c *Client) Run(ctx context.Context, j *Job) (r *bundle.Result, err error) {
	if err := os.Remove(j.packed()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	fmt.Fprintf(c.Log, "The session is %s. Should this command be killed: %s\n", j.Session, tool.Quote(append([]string{"colab"}, j.stop()...)))
	defer func() {
		// A session that was asked for may be there though the tool says it is not, and
		// costs until it ends. What was interrupted must still be cleaned up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
		defer cancel()
		if _, failed := c.tool.Run(ctx, j.stop()...); failed != nil {
			err = errors.Join(err, fmt.Errorf("the session %s may still run, and cost: %w", j.Session, failed))
		}
	}()
	if err := c.send(ctx, j); err != nil {
		return nil, err
	}
	if err := c.execute(ctx, j); err != nil {
		return nil, err
	}
	if _, err := c.tool.Run(ctx, j.download()...); err != nil {
		return nil, fmt.Errorf("the job gave nothing back: what it printed is above: %w", err)
	}
	if err := bundle.Deliver(j.Output(), func(dir string) error { return unpack(j.packed(), dir) }); err != nil {
		return nil, err
	}
	if r, err = bundle.ReadResult(j.Output(), j.manifest.ID()); err != nil {
		return nil, err
	}
	return r, r.Failure()
}

// send makes the session and brings the bundle there.
func (c *Client) send(ctx context.Context, j *Job) error {
	if _, err := c.tool.Run(ctx, j.new()...); err != nil {
		return err
	}
	said, err := c.tool.Run(ctx, j.prepare()...)
	if err != nil {
		return err
	}
	if !strings.Contains(said, prepared) {
		return fmt.Errorf("the session does not execute Python: %s", strings.TrimSpace(said))
	}
	for _, name := range j.names() {
		fmt.Fprintln(c.Log, "Uploading", name)
		if _, err := c.tool.Run(ctx, j.upload(name)...); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) execute(ctx context.Context, j *Job) error {
	loud := *c.tool
	loud.Out, loud.Err = c.Log, c.Log
	_, err := loud.Run(ctx, j.exec()...)
	return err
}
