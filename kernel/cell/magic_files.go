package cell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/textfile"
	"forgekernel/kernel/link"
	"forgekernel/kernel/replace"
)

// maxLoad is the largest file that %load brings into a cell, in bytes.
const maxLoad = 1 << 20

// magicWriteFile is %%writefile.
func (t *task) magicWriteFile(c call) Outcome {
	name, err := expandHome(c.rest[0])
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	text := c.body.body[c.body.line-1:]
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err = os.Stat(name)
	existed := err == nil
	verb := "Wrote"
	switch {
	case c.flags["a"] != "" && existed:
		verb = "Appended to"
		err = appendFile(name, text)
	default:
		if existed {
			verb = "Overwrote"
		}
		err = replaceFile(name, text)
	}
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	fmt.Fprintln(t.stdout(), verb, c.rest[0])
	return Outcome{}
}

// appendFile adds the whole text or, as when the disk is full, none of it.
func appendFile(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	before, err := f.Stat()
	if err == nil {
		var n int
		if n, err = f.WriteString(text); err != nil && n > 0 && before.Mode().IsRegular() {
			err = errors.Join(err, f.Truncate(before.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// replaceFile stores text whole or not at all. Devices and the like are refused:
// what is meant is a file.
func replaceFile(name, text string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	return replace.File(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// magicLoad is %load.
func (t *task) magicLoad(c call) Outcome {
	name, err := expandHome(c.rest[0])
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	if forge.IsModel(name) {
		return t.loadModel(c, name)
	}
	if len(c.rest) > 1 {
		return Outcome{Err: t.usage(c.directive, "", "NAME is for models, and %s is not named as one: %s", name, strings.Join(forge.ModelFormats(), ", "))}
	}
	text, err := readText(name)
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	return Outcome{Payload: []link.Payload{{Source: "set_next_input", Text: text, Replace: true}}}
}

func readText(name string) (string, error) {
	text, err := textfile.Read(name, maxLoad)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is not UTF-8 text", name)
	}
	return string(text), err
}

// magicCd is %cd.
func (t *task) magicCd(c call) Outcome {
	dir := "~"
	if len(c.rest) > 0 {
		dir = c.rest[0]
	}
	dir, err := expandHome(dir)
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%v", err)}
	}
	now, err := os.Getwd()
	if err != nil {
		return Outcome{Err: err}
	}
	fmt.Fprintln(t.stdout(), now)
	return Outcome{}
}

// expandHome replaces a leading ~ with the home directory.
func expandHome(name string) (string, error) {
	if name != "~" && !strings.HasPrefix(name, "~/") {
		return name, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("cannot expand ~: HOME is not set")
	}
	return filepath.Join(home, name[1:]), nil
}

// magicEnv is %env.
func (t *task) magicEnv(c call) Outcome {
	if c.args == "" {
		list := os.Environ()
		slices.Sort(list)
		table := display.Table{Columns: []display.Column{{Name: "name"}, {Name: "value"}}}
		for _, entry := range list {
			name, value, _ := strings.Cut(entry, "=")
			table.Rows = append(table.Rows, []any{name, value})
		}
		return shown(table)
	}
	name, value, set := strings.Cut(c.args, "=")
	if !set {
		name, value, set = strings.Cut(c.args, " ")
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if set {
		if err := os.Setenv(name, value); err != nil {
			return Outcome{Err: t.usage(c.directive, "", "%q cannot be a variable of the environment, or its value %q cannot be stored", name, value)}
		}
		fmt.Fprintf(t.stdout(), "%s=%s\n", name, value)
		return Outcome{}
	}
	value, found := os.LookupEnv(name)
	if !found {
		return Outcome{Err: t.usage(c.directive, "%env NAME=VALUE sets a variable", "the environment has no %s", name)}
	}
	return shown(display.Text(value))
}

// shown is an outcome whose result is v.
func shown(v any) Outcome {
	b := display.ToBundle(v)
	return Outcome{Result: &b}
}
