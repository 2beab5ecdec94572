package kaggle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"forgekernel/install/bundle"
)

// state is what Kaggle says of a job.
type state struct {
	name    string // "QUEUED", "RUNNING", "COMPLETE", "ERROR", …
	message string // why it failed
}

func (s state) queued() bool  { return s.name == "QUEUED" || s.name == "NEW_SCRIPT" }
func (s state) running() bool { return s.name == "RUNNING" || s.name == "CANCEL_REQUESTED" }
func (s state) ended() bool {
	return s.name == "COMPLETE" || s.name == "ERROR" || s.name == "CANCEL_ACKNOWLEDGED"
}

// Statuses are printed as names of an enumeration, earlier ones as plain words.
var (
	statusPattern  = regexp.MustCompile(`has status "(?:KernelWorkerStatus\.)?([A-Za-z_]+)"`)
	messagePattern = regexp.MustCompile(`(?m)^Failure message: "(.*)"$`)
)

func (c *Client) state(ctx context.Context, kernel string) (s state, err error) {
	said, err := c.tool.Run(ctx, status(kernel)...)
	if err != nil {
		return s, err
	}
	return parseState(said)
}

func parseState(said string) (s state, err error) {
	m := statusPattern.FindStringSubmatch(said)
	if m == nil {
		return s, fmt.Errorf("kaggle tells no status: %q", strings.TrimSpace(said))
	}
	s.name = strings.ToUpper(m[1])
	if m := messagePattern.FindStringSubmatch(said); m != nil {
		s.message = m[1]
	}
	return s, nil
}

// Fetch follows a job that was pushed before, and returns its result when it went well.
// What it wrote comes into the folder dir.
func (c *Client) Fetch(ctx context.Context, kernel, dir string) (*bundle.Result, error) {
	if user, slug, ok := strings.Cut(kernel, "/"); !ok || !validUser(user) || !slugPattern.MatchString(slug) {
		return nil, fmt.Errorf("%q is not a job: write USER/NAME, as forge kaggle push told it", kernel)
	}
	return c.finish(ctx, kernel, "", dir)
}

// finish follows a job to its end and fetches what it wrote. For a moment after a push
// Kaggle may still tell of the version before.
func (c *Client) finish(ctx context.Context, kernel, job, dir string) (*bundle.Result, error) {
	for tries := 0; ; tries++ {
		end, err := c.follow(ctx, kernel)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w; the job goes on: forge kaggle fetch %s gets it, and only its page on Kaggle stops it", context.Cause(ctx), kernel)
		}
		if err != nil {
			return nil, fmt.Errorf("the job %s cannot be followed, and may go on: %w; try forge kaggle fetch %s", kernel, err, kernel)
		}
		c.say("Fetching what %s wrote to %s", kernel, dir)
		r, err := c.fetch(ctx, kernel, job, dir)
		switch {
		case err == nil:
			return r, r.Failure()
		case errors.Is(err, bundle.ErrOther) && tries < patience:
			if err := c.wait(ctx); err != nil {
				return nil, err
			}
		case end.name != "COMPLETE":
			return nil, fmt.Errorf("the job %s ended as %s: %s (%w)", kernel, end.name, end.reason(), err)
		default:
			return nil, err
		}
	}
}

// fetch gets what a job wrote, and its result in it: all of it, and nothing of another job.
func (c *Client) fetch(ctx context.Context, kernel, job, dir string) (*bundle.Result, error) {
	err := bundle.Deliver(dir, func(incoming string) error {
		if _, err := c.run(ctx, output(kernel, incoming)...); err != nil {
			return err
		}
		if _, err := bundle.ReadResult(incoming, job); errors.Is(err, bundle.ErrOther) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return bundle.ReadResult(dir, job)
}

func (s state) reason() string {
	if s.message == "" {
		return "Kaggle does not say why; its log is above"
	}
	return s.message
}

// patience is how many times in a row Kaggle may fail to tell a status, or tell one that
// is not known here.
const patience = 5

// follow shows the log until the job has ended. A log breaks off at times, and there is
// none before the job runs: what Kaggle says of the job decides.
func (c *Client) follow(ctx context.Context, kernel string) (state, error) {
	shown, waiting := 0, false
	for failures := 0; ; {
		s, err := c.state(ctx, kernel)
		switch {
		case ctx.Err() != nil:
			return s, context.Cause(ctx)
		case err != nil:
			if failures++; failures == patience {
				return s, err
			}
		case !s.queued() && !s.running() && !s.ended():
			if failures++; failures == patience {
				return s, fmt.Errorf("kaggle tells a status that is not known here: %q", s.name)
			}
		case s.queued():
			failures = 0
			if !waiting {
				c.say("Waiting for a machine")
				waiting = true
			}
		default:
			failures = 0
			if err := c.showLog(ctx, kernel, &shown); err != nil && ctx.Err() == nil {
				c.say("The log broke off: %v", err)
			}
			if s.ended() { // and the log of what has ended is whole
				return s, nil
			}
		}
		if err := c.wait(ctx); err != nil {
			return state{}, err
		}
	}
}

// showLog shows the log from line number shown on: each time Kaggle sends all of it.
func (c *Client) showLog(ctx context.Context, kernel string, shown *int) error {
	once := *c.tool
	lines := &fresh{w: c.Log, skip: *shown}
	once.Out = lines // what the tool itself has to say is no line of the log
	_, err := once.Run(ctx, logs(kernel)...)
	*shown = max(*shown, lines.count)
	return errors.Join(err, lines.err)
}

// fresh passes lines on after the first ones.
type fresh struct {
	w           io.Writer
	skip, count int // lines
	part        []byte
	err         error
}

func (f *fresh) Write(p []byte) (int, error) {
	f.part = append(f.part, p...)
	for {
		i := bytes.IndexByte(f.part, '\n')
		if i < 0 {
			return len(p), nil
		}
		if f.count++; f.count > f.skip && f.err == nil {
			_, f.err = f.w.Write(f.part[:i+1])
		}
		f.part = f.part[i+1:]
	}
}
