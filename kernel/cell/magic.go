package cell

import (
	"fmt"
	"maps"
	"strings"

	"forgekernel/forge/spelling"
)

// form says where a magic may stand.
type form int

const (
	onLine form = 1 << iota // %name
	onCell                  // %%name, with the rest of the cell as its body
)

// magic is one entry of the table that running, completion, inspection and
// %lsmagic share.
type magic struct {
	name  string
	form  form
	args  string // how the arguments are called, after the flags: "FILE"
	least int    // number of arguments
	most  int
	flags []flag
	raw   bool     // the arguments are one text, to be taken as it is
	expr  bool     // that text, of %name, is Go
	files bool     // the arguments are file names
	code  bool     // the body is again directives and code
	lang  Language // of that code, whatever it looks like
	doc   string
	// words are what the next argument may be, after those on the line before it.
	words func(in *Interp, before []string) []string
	run   func(t *task, c call) Outcome
}

// call is one use of a magic.
type call struct {
	directive
	arguments
	body parts // of a %%magic
}

// unbounded is the most arguments of a magic that takes any number.
const unbounded = 1 << 20

// magics is the table, in the order in which %lsmagic shows it.
var magics []*magic

func init() { // not an initialiser: %lsmagic refers to the table
	magics = []*magic{
		{name: "forge", form: onCell, code: true, lang: ForgeScript, flags: forgeFlags(), run: (*task).magicForge,
			doc: "Run the cell as ForgeScript; compile its entry function for given shapes and show what came of it."},
		{name: "go", form: onCell, code: true, lang: Go, run: (*task).magicGo,
			doc: "Run the cell as Go, also if it begins with def."},
		{name: "bash", form: onCell, raw: true, args: "[ARGUMENTS]", run: (*task).magicBash,
			doc: "Run the cell as a shell script, which finds the arguments in $1, $2 and so on. Standard error is shown apart, so its order among standard output is not kept; begin with exec 2>&1 for one stream."},
		{name: "writefile", form: onCell, args: "FILE", least: 1, most: 1, files: true, run: (*task).magicWriteFile,
			flags: []flag{{name: "a", doc: "append to the file"}},
			doc:   "Write the cell to a file."},
		{name: "time", form: onLine | onCell, raw: true, expr: true, code: true, args: "EXPRESSION", run: (*task).magicTime,
			doc: "Run Go code, or the cell, and print the time that passed and the CPU time it took."},
		{name: "load", form: onLine, args: "FILE [NAME]", least: 1, most: 2, files: true, run: (*task).magicLoad,
			doc: "Replace the cell with the text of a file, or make a model a Go value: forge.Load with its name."},
		{name: "who", form: onLine, args: "[PREFIX]", most: 1, words: symbolNames, run: (*task).magicWho,
			doc: "List what the session holds, with the values of variables."},
		{name: "reset", form: onLine, run: (*task).magicReset,
			flags: []flag{{name: "f", doc: "do not ask first"}},
			doc:   "Forget every variable, function, type and import of the session, and close the jobs of nebula."},
		{name: "env", form: onLine, raw: true, args: "[NAME[=VALUE]]", words: environmentNames, run: (*task).magicEnv,
			doc: "List the environment, show one variable of it, or set one for this session and its commands."},
		{name: "cd", form: onLine, args: "[DIRECTORY]", most: 1, files: true, run: (*task).magicCd,
			doc: "Change the working directory; without an argument, to the home directory."},
		{name: "jobs", form: onLine, run: (*task).magicJobs,
			doc: "List the commands started with !command & and how those that ended did so."},
		{name: "goroutines", form: onLine, args: "[stop NUMBER]", most: 2, words: goroutineWords, run: (*task).magicGoroutines,
			doc: "List the goroutines that cells have left running, or stop one and all others of its cell."},
		{name: "goget", form: onLine, args: "MODULE[@VERSION]", least: 1, most: unbounded, words: moduleQueries, run: (*task).magicGoget,
			doc: "Fetch modules of plain Go, with what they need, through the module proxy, and check them against the checksum database; import their packages then. They are interpreted; no toolchain is needed."},
		{name: "gobuild", form: onCell, raw: true, args: "[ARGUMENTS]", run: (*task).magicGobuild,
			doc: "Build the cell, a whole program with its func main, with the Go toolchain and run it. Its variables are not those of the session."},
		{name: "debug", form: onLine, raw: true, args: "[CALL] [EXPRESSION]", words: callWords, run: (*task).magicDebug,
			doc: "Look into the latest panic: list its calls with their variables, show those of one call, or evaluate an expression where that call stands (call 0, the innermost, unless a number says another)."},
		{name: "doctor", form: onLine, run: (*task).magicDoctor,
			doc: "Examine the host: processor, memory, compilers, accelerators, Python, cache, launcher."},
		{name: "config", form: onLine, args: "[NAME | NAME=VALUE …]", most: unbounded, words: settingWords, run: (*task).magicConfig,
			doc: "List the settings, show one, or change some."},
		{name: "lsmagic", form: onLine, run: (*task).magicList,
			doc: "List the magics."},
	}
}

// magic runs %name or %%name.
func (t *task) magic(d directive, body parts) Outcome {
	m, err := t.find(d, body)
	if err != nil {
		return Outcome{Err: err}
	}
	c := call{directive: d, body: body}
	if !m.raw {
		if c.arguments, err = m.parseArgs(d.args); err != nil {
			return Outcome{Err: t.usage(d, "usage: "+m.usage(d.kind), "%s: %v", m.title(), err)}
		}
	}
	out := m.run(t, c)
	if out.Err != nil && t.ctx.Err() != nil && !wasInterrupted(out.Err) {
		out.Err = &InterruptError{What: d.text}
	}
	return out
}

// find looks d up and checks that it stands where it may.
func (t *task) find(d directive, body parts) (*magic, error) {
	m := lookup(d.name)
	switch {
	case m == nil:
		return nil, t.usage(d, insteadOf(d.name), "there is no magic %s", d.name)
	case d.kind == cellMagic && body.magic == nil:
		return nil, t.usage(d, "", "%%%%%s must be the first line of its cell", d.name)
	case d.kind == cellMagic && m.form&onCell == 0:
		return nil, t.usage(d, "write %"+d.name, "%s is not for whole cells", d.name)
	case d.kind == lineMagic && m.form&onLine == 0:
		return nil, t.usage(d, "write %%"+d.name+" on the first line of a cell", "%s is for whole cells", d.name)
	}
	return m, nil
}

func lookup(name string) *magic {
	for _, m := range magics {
		if m.name == name {
			return m
		}
	}
	return nil
}

// title is the name with the per cent signs of its only or shorter form.
func (m *magic) title() string {
	if m.form&onLine != 0 {
		return "%" + m.name
	}
	return "%%" + m.name
}

// usage is how the magic is written in one of its forms.
func (m *magic) usage(kind directiveKind) string {
	s := "%" + m.name
	if kind == cellMagic {
		s = "%" + s
	}
	for _, f := range m.flags {
		s += " [" + f.dashed()
		if f.value != "" {
			s += " " + f.value
		}
		s += "]"
	}
	if m.args != "" && !(m.expr && kind == cellMagic) {
		s += " " + m.args
	}
	return s
}

// signature names the arguments in messages about their number.
func (m *magic) signature() string {
	if m.args == "" {
		return "none"
	}
	return m.args
}

// help is the text that name? shows.
func (m *magic) help() string {
	var b strings.Builder
	if m.form&onLine != 0 {
		b.WriteString(m.usage(lineMagic) + "\n")
	}
	if m.form&onCell != 0 {
		b.WriteString(m.usage(cellMagic) + "\n")
	}
	b.WriteString("\n" + wrapped(m.doc, "") + "\n")
	for _, f := range m.flags {
		fmt.Fprintf(&b, "\n  %-24s %s", strings.TrimSpace(f.dashed()+" "+f.value), wrapped(f.doc, strings.Repeat(" ", 27)))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// insteadOf says what to write for a magic that does not exist.
func insteadOf(name string) string {
	if hint, known := elsewhere[name]; known {
		return hint
	}
	titles := map[string]string{}
	for _, m := range magics {
		titles[m.name] = m.title()
	}
	near := spelling.Near(name, maps.Keys(titles))
	if len(near) == 0 {
		return "%lsmagic lists all"
	}
	for i, name := range near {
		near[i] = titles[name]
	}
	return "did you mean " + strings.Join(near, " or ") + "? %lsmagic lists all"
}
