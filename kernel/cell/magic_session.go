package cell

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/kernel/bytesize"
	"forgekernel/kernel/doctor"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/peek"
	"forgekernel/kernel/link"
	"forgekernel/nebula"
)

// magicWho is %who.
func (t *task) magicWho(c call) Outcome {
	prefix := strings.Join(c.rest, "")
	values := map[string]string{}
	t.in.golang.Debugger().Hold(t.ctx, func(w eval.World) {
		for _, v := range t.in.golang.Globals() {
			values[v.Name] = "(a cell runs)"
			if w.Still {
				values[v.Name] = peek.Brief(v.Value, w.Maps(), columnWidth)
			}
		}
	})
	for _, s := range t.in.golang.Symbols() {
		if s.Kind == "const" {
			values[s.Name] = excerpt(s.Value)
		}
	}
	table := display.Table{Columns: []display.Column{{Name: "name"}, {Name: "kind"}, {Name: "type"}, {Name: "value"}}}
	for _, s := range t.in.Symbols() {
		if strings.HasPrefix(s.Name, prefix) {
			table.Rows = append(table.Rows, []any{excerpt(s.Name), s.Kind, excerpt(s.Type), values[s.Name]})
		}
	}
	switch {
	case len(table.Rows) > 0:
		return shown(table)
	case prefix != "":
		fmt.Fprintln(t.stdout(), "nothing that is defined begins with", prefix)
	default:
		fmt.Fprintln(t.stdout(), "nothing is defined")
	}
	return Outcome{}
}

// columnWidth is the most characters of a column of %who, which has one line for each name.
const columnWidth = 60

func excerpt(text string) string {
	if r := []rune(text); len(r) > columnWidth {
		return string(r[:columnWidth-1]) + "…"
	}
	return text
}

// magicReset is %reset.
func (t *task) magicReset(c call) Outcome {
	if c.flags["f"] == "" {
		answer, err := t.in.opts.Stdin(t.ctx, "Forget everything the session holds? [y/N] ", false)
		if err != nil {
			return Outcome{Err: t.usage(c.directive, "%reset -f does not ask", "cannot ask whether to forget everything: %v", err)}
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			fmt.Fprintln(t.stdout(), "nothing was forgotten")
			return Outcome{}
		}
	}
	t.in.reset()
	if err := t.closeJobs(); err != nil {
		return Outcome{Err: err}
	}
	return Outcome{}
}

// closeJobs ends the decoders that cells have started: nothing could use them any more.
func (t *task) closeJobs() error {
	list := nebula.Jobs()
	err := nebula.CloseAll()
	for _, j := range list {
		fmt.Fprintf(t.stdout(), "closed the %v\n", j)
	}
	return err
}

// magicJobs is %jobs.
func (t *task) magicJobs(call) Outcome {
	table := display.Table{Columns: []display.Column{{Name: "job"}, {Name: "pid"}, {Name: "for"}, {Name: "state"}, {Name: "command"}}}
	for _, j := range t.in.jobs.List() {
		state := "running"
		if running, err := j.Running(); !running {
			state = "exited with status 0"
			if err != nil {
				state = err.Error()
			}
		}
		age := time.Since(j.Started).Round(time.Second)
		table.Rows = append(table.Rows, []any{j.Number, j.PID, age.String(), state, j.Line})
	}
	if len(table.Rows) == 0 {
		fmt.Fprintln(t.stdout(), "no background jobs; !command & starts one")
		return Outcome{}
	}
	return shown(table)
}

// magicGoroutines is %goroutines.
func (t *task) magicGoroutines(c call) Outcome {
	if len(c.rest) > 0 {
		return t.stopGoroutine(c)
	}
	table := display.Table{Columns: []display.Column{{Name: "goroutine"}, {Name: "cell"}, {Name: "function"}, {Name: "line"}, {Name: "state"}}}
	for _, g := range t.in.golang.Goroutines() {
		table.Rows = append(table.Rows, []any{g.ID, g.Cell, g.Func, g.Line, g.State})
	}
	if len(table.Rows) == 0 {
		fmt.Fprintln(t.stdout(), "no goroutines of cells are running")
		return Outcome{}
	}
	return shown(table)
}

func (t *task) stopGoroutine(c call) Outcome {
	if len(c.rest) != 2 || c.rest[0] != "stop" {
		return Outcome{Err: t.usage(c.directive, "usage: %goroutines [stop NUMBER]", "%%goroutines takes nothing or stop and a number")}
	}
	id, err := strconv.ParseUint(c.rest[1], 10, 64)
	if err != nil || !t.in.golang.StopGoroutine(id) {
		return Outcome{Err: t.usage(c.directive, "%goroutines lists them", "there is no goroutine %s", c.rest[1])}
	}
	return Outcome{}
}

// magicDoctor is %doctor.
func (t *task) magicDoctor(call) Outcome {
	report := doctor.Examine(t.ctx)
	if t.ctx.Err() != nil {
		return Outcome{Err: &InterruptError{What: "%doctor"}}
	}
	return shown(report)
}

// magicList is %lsmagic.
func (t *task) magicList(call) Outcome {
	table := display.Table{Columns: []display.Column{{Name: "magic"}, {Name: "what it does"}}}
	for _, m := range magics {
		var forms []string
		if m.form&onLine != 0 {
			forms = append(forms, m.usage(lineMagic))
		}
		if m.form&onCell != 0 {
			forms = append(forms, m.usage(cellMagic))
		}
		table.Rows = append(table.Rows, []any{strings.Join(forms, ", "), m.doc})
	}
	table.Rows = append(table.Rows,
		[]any{"!COMMAND", "Run a command with a shell; with & behind it, in the background."},
		[]any{"NAME?  NAME??", "Describe a name; with its source, if there is any."})
	return shown(table)
}

// setting is one entry of %config.
type setting struct {
	name string
	doc  string
	get  func(in *Interp) string
	// parse checks a value and returns what puts it into effect, so that a
	// line with one bad value changes nothing.
	parse func(in *Interp, value string) (apply func() error, err error)
}

var settings = []setting{
	{
		name:  "output_limit",
		doc:   "Text that one cell may print, such as 16MiB; 0 lifts the limit.",
		get:   func(in *Interp) string { return formatLimit(in.opts.Settings.Current().OutputLimit) },
		parse: limitSetting(func(n int64) link.Settings { return link.Settings{OutputLimit: &n} }),
	},
	{
		name:  "memory_limit",
		doc:   "Memory that the session may use, such as 8GiB; 0 lifts the limit.",
		get:   func(in *Interp) string { return formatLimit(in.opts.Settings.Current().MemoryLimit) },
		parse: limitSetting(func(n int64) link.Settings { return link.Settings{MemoryLimit: &n} }),
	},
	{
		name: "show",
		doc:  "What is shown of a ForgeScript cell that compiles: " + strings.Join(forge.Views(), ", ") + ", separated by commas.",
		get: func(in *Interp) string {
			in.mu.Lock()
			defer in.mu.Unlock()
			return strings.Join(in.views, ",")
		},
		parse: func(in *Interp, value string) (func() error, error) {
			views, err := forge.ParseViews(value)
			return func() error {
				in.mu.Lock()
				defer in.mu.Unlock()
				in.views = views
				return nil
			}, err
		},
	},
}

func limitSetting(change func(int64) link.Settings) func(*Interp, string) (func() error, error) {
	return func(in *Interp, value string) (func() error, error) {
		n, err := bytesize.Parse(value)
		return func() error { return in.opts.Settings.Change(change(n)) }, err
	}
}

// magicConfig is %config.
func (t *task) magicConfig(c call) Outcome {
	if len(c.rest) == 1 && findSetting(c.rest[0]) != nil {
		return t.settings(c.rest[0])
	}
	var apply []func() error
	for _, arg := range c.rest {
		name, value, found := strings.Cut(arg, "=")
		s := findSetting(name)
		if s == nil || !found {
			return Outcome{Err: t.usage(c.directive, "write %config NAME to show a setting or %config NAME=VALUE to change it; they are "+strings.Join(settingNames(), ", "), "%q is not a setting with a value", arg)}
		}
		f, err := s.parse(t.in, value)
		if err != nil {
			return Outcome{Err: t.usage(c.directive, s.doc, "%s: %v", name, err)}
		}
		apply = append(apply, f)
	}
	for _, f := range apply {
		if err := f(); err != nil {
			return Outcome{Err: err}
		}
	}
	if len(c.rest) > 0 {
		return Outcome{}
	}
	return t.settings("")
}

// settings lists one setting, or all when name is empty.
func (t *task) settings(name string) Outcome {
	table := display.Table{Columns: []display.Column{{Name: "setting"}, {Name: "value"}, {Name: "meaning"}}}
	for _, s := range settings {
		if name != "" && s.name != name {
			continue
		}
		table.Rows = append(table.Rows, []any{s.name, s.get(t.in), s.doc})
	}
	return shown(table)
}

func findSetting(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

func settingNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

func formatLimit(n *int64) string {
	switch {
	case n == nil:
		return "unknown"
	case *n == 0:
		return "none"
	}
	return bytesize.Format(*n)
}
