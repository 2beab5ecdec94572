package kaggle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"forgekernel/install/bundle"
	"forgekernel/install/tool"
)

// oldest is the first version of the tool that follows logs.
var oldest = [3]int{2, 2, 0}

// Client is Kaggle's tool.
type Client struct {
	Poll time.Duration // how often Kaggle is asked for what changes by itself
	Log  io.Writer     // gets what happens, and the log of the job

	tool *tool.Tool
}

// NewClient finds the tool and examines its version.
func NewClient(ctx context.Context, log io.Writer, poll time.Duration) (*Client, error) {
	t, err := tool.Find("kaggle", "install it (pip install kaggle) and log in with it (kaggle auth login)")
	if err != nil {
		return nil, err
	}
	return &Client{poll, log, t}, t.Require(ctx, "--version", oldest)
}

var userPattern = regexp.MustCompile(`(?m)^- username: (\S+)$`)

// User asks the tool whom it is logged in as.
func (c *Client) User(ctx context.Context) (string, error) {
	said, err := c.tool.Run(ctx, "config", "view")
	if err != nil {
		return "", err
	}
	if m := userPattern.FindStringSubmatch(said); m != nil && m[1] != "None" {
		return m[1], nil
	}
	return "", errors.New("kaggle is logged in as nobody: run kaggle auth login, or name the account with --user")
}

func (c *Client) say(format string, args ...any) { fmt.Fprintf(c.Log, format+"\n", args...) }

// Push runs a job that was written, and returns its result when it went well.
func (c *Client) Push(ctx context.Context, j *Job) (*bundle.Result, error) {
	if err := c.upload(ctx, j); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", j.dataset(), err)
	}
	if err := c.start(ctx, j); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", j.kernel(), err)
	}
	c.say("The job is %s on Kaggle. It goes on there if this command ends: forge kaggle fetch %s goes on here.", j.kernel(), j.kernel())
	return c.finish(ctx, j.kernel(), j.manifest.ID(), j.Output())
}

// The tool tells of some failures in what it prints alone, and ends with status 0.
var (
	refused    = regexp.MustCompile(`(?m)^(?:Dataset creation|Dataset version creation|Kernel push) error: *(.*)$`)
	unattached = regexp.MustCompile(`(?m)^The following are not valid dataset sources[^:]*: *(.*)$`)
	absent     = regexp.MustCompile(`\b(?:403|404)\b`)
)

func (c *Client) run(ctx context.Context, args ...string) (string, error) {
	said, err := c.tool.Run(ctx, args...)
	if err != nil {
		return said, err
	}
	if m := refused.FindStringSubmatch(said); m != nil {
		return said, fmt.Errorf("it is refused by Kaggle: %s", m[1])
	}
	return said, nil
}

// processed matches the statuses of a dataset on its way to be ready.
var processed = regexp.MustCompile(`(?i)\b(?:not_yet_persisted|blobs_received|blobs_decompressed|blobs_copied_to_sds|individual_blobs_compressed|reprocessing|pending|queued|running)$`)

// upload makes the dataset what was written, and waits until jobs get it.
func (c *Client) upload(ctx context.Context, j *Job) error {
	change := j.datasetVersion()
	var failed *tool.Error
	switch _, err := c.tool.Run(ctx, j.datasetStatus()...); {
	case errors.As(err, &failed) && absent.MatchString(failed.Said):
		change = j.datasetCreate() // of a private dataset of others Kaggle says the same
	case err != nil:
		return err
	}
	c.say("Uploading %s", j.dataset())
	if _, err := c.run(ctx, change...); err != nil {
		return err
	}
	for strange := 0; ; {
		said, err := c.tool.Run(ctx, j.datasetStatus()...)
		switch state := strings.TrimSpace(said); {
		case err != nil:
			return err
		case strings.HasSuffix(state, "ready"):
			return nil
		case strings.HasSuffix(state, "failed"), strings.HasSuffix(state, "deleted"):
			return fmt.Errorf("it could not be taken by Kaggle: %s", state)
		case processed.MatchString(state):
			strange = 0
		default:
			if strange++; strange == patience {
				return fmt.Errorf("kaggle tells a status that is not known here: %q", state)
			}
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
}

func (c *Client) wait(ctx context.Context) error {
	select {
	case <-time.After(c.Poll):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) start(ctx context.Context, j *Job) error {
	said, err := c.run(ctx, j.push()...)
	if ctx.Err() != nil {
		return fmt.Errorf("%w; the job may have started: forge kaggle fetch %s tells", err, j.kernel())
	}
	if err != nil {
		if strings.Contains(strings.ToLower(err.Error()), "quota") {
			err = fmt.Errorf("%w (kaggle quota tells what is left, and from when there is more)", err)
		}
		return err
	}
	if m := unattached.FindStringSubmatch(said); m != nil {
		return fmt.Errorf("the dataset %s is not attached by Kaggle: the job, which has started without it, will fail", m[1])
	}
	return nil
}
