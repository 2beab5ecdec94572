package cell

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/cell/shell"
	"forgekernel/kernel/gocell"
)

// magicGo is %%go.
func (t *task) magicGo(c call) Outcome {
	p := c.body.inner()
	p.lang = Go
	return t.run(p)
}

// magicTime is %time and %%time. The times are printed after what the code
// prints, also when it fails, but not for code that could not begin.
func (t *task) magicTime(c call) Outcome {
	if c.kind == cellMagic && c.args != "" {
		return Outcome{Err: t.usage(c.directive, "put the code below, or write %time", "%%%%time takes no arguments")}
	}
	if c.kind == lineMagic && c.args == "" {
		return Outcome{Err: t.usage(c.directive, "write %time EXPRESSION, or %%time on the first line to time the cell", "there is nothing to time")}
	}
	before := now()
	var out Outcome
	if c.kind == cellMagic {
		out = t.run(c.body.inner())
	} else {
		out = t.goCode(blankMagic(c.directive), c.line)
	}
	var compile *gocell.CompileError
	if !errors.As(out.Err, &compile) {
		fmt.Fprintln(t.stdout(), now().sub(before))
		return out
	}
	if c.kind == lineMagic { // show the line as it was typed
		for i := range compile.Diagnostics {
			if d := &compile.Diagnostics[i]; d.Line == c.line && d.Source == t.cell.Name {
				d.Text = c.text
			}
		}
	}
	return out
}

// blankMagic is the line of %name with the name replaced by blanks, so that
// columns stay what they are in the cell.
func blankMagic(d directive) string {
	start := strings.Index(d.text, d.args)
	if start < 0 { // continued over several lines
		return d.args
	}
	return strings.Repeat(" ", start) + d.args
}

// times is how much time had passed at some point.
type times struct {
	wall         time.Time
	user, system time.Duration // CPU time of the session and of the commands that have ended
}

func now() times {
	t := times{wall: time.Now()}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			t.user += time.Duration(u.Utime.Nano())
			t.system += time.Duration(u.Stime.Nano())
		}
	}
	return t
}

func (t times) sub(from times) string {
	user, system := t.user-from.user, t.system-from.system
	return fmt.Sprintf("wall %s, CPU %s (user %s, system %s)",
		brief(t.wall.Sub(from.wall)), brief(user+system), brief(user), brief(system))
}

// brief writes a duration with three digits or so.
func brief(d time.Duration) string {
	unit := time.Nanosecond
	for unit < time.Second && d >= 1000*unit {
		unit *= 1000
	}
	return d.Round(unit / 100).String()
}

// magicBash is %%bash. Unlike a ! line, a script keeps its standard error
// apart.
func (t *task) magicBash(c call) Outcome {
	args, err := words(c.args)
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%%%%bash: %v", err)}
	}
	// The empty lines above the script make its line numbers those of the cell.
	return t.command(c.directive, shell.Script(c.body.body, "bash", args...), false)
}

// shell runs the command of a ! line.
func (t *task) shell(d directive) Outcome {
	line, background := shell.Background(d.args)
	if line == "" {
		return Outcome{Err: t.usage(d, "write a command after the exclamation mark, such as !ls", "there is no command")}
	}
	if strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "! ") { // that would negate a status
		return Outcome{Err: t.usage(d, "write !"+strings.TrimLeft(line, "!")+"; in Go, exec.Command(…).Output() returns what a command prints", "one exclamation mark runs a command")}
	}
	c := shell.Line(line)
	c.Terminal = true
	return t.command(d, c, background)
}

func (t *task) command(d directive, c shell.Command, background bool) Outcome {
	c.Stdout = func() io.Writer { return t.in.opts.Writer(t.cell.ID, "stdout") }
	c.Stderr = func() io.Writer { return t.in.opts.Writer(t.cell.ID, "stderr") }
	if background {
		job, err := t.in.jobs.Start(c, d.text)
		if err == nil {
			fmt.Fprintf(t.stdout(), "[%d] %d\n", job.Number, job.PID)
		}
		return Outcome{Err: err}
	}
	err := c.Run(t.ctx)
	if err != nil && t.ctx.Err() != nil {
		err = &InterruptError{What: d.text}
	}
	return Outcome{Err: err}
}

func wasInterrupted(err error) bool {
	var ours *InterruptError
	var engine *gocell.InterruptError
	return errors.As(err, &ours) || errors.As(err, &engine)
}
