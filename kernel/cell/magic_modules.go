package cell

import (
	"bytes"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"forgekernel/display"
	"forgekernel/kernel/cell/shell"
)

// magicGoget is %goget.
func (t *task) magicGoget(c call) Outcome {
	for _, query := range c.rest {
		list, err := t.in.golang.Get(t.ctx, query)
		if err != nil {
			return Outcome{Err: t.usage(c.directive, "", "%v", err)}
		}
		table := display.Table{Columns: []display.Column{{Name: "module"}, {Name: "version"}, {Name: "packages"}}}
		for _, m := range list {
			table.Rows = append(table.Rows, []any{m.Path, m.Version, strings.Join(m.Packages, ", ")})
		}
		if query == c.rest[len(c.rest)-1] {
			return shown(table)
		}
	}
	return Outcome{}
}

// magicGobuild is %%gobuild: it builds the cell as a program with the toolchain
// and runs it. Nothing of the program stays in the session.
func (t *task) magicGobuild(c call) Outcome {
	tool, err := exec.LookPath("go")
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "run the cell as it is: Go cells need no toolchain, and %goget fetches modules", "there is no Go toolchain on PATH to build with")}
	}
	args, err := words(c.args)
	if err != nil {
		return Outcome{Err: t.usage(c.directive, "", "%%%%gobuild: %v", err)}
	}
	dir, err := os.MkdirTemp("", "gobuild")
	if err != nil {
		return Outcome{Err: err}
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	// The empty lines above the program make its line numbers those of the cell.
	if err := os.WriteFile(source, []byte(mainProgram(c.body.body)), 0o600); err != nil {
		return Outcome{Err: err}
	}
	var said bytes.Buffer
	build := shell.Command{Path: tool, Args: []string{"build", "-o", program, source}}
	build.Stdout = func() io.Writer { return &said }
	build.Stderr = build.Stdout
	err = build.Run(t.ctx)
	io.WriteString(t.in.opts.Writer(t.cell.ID, "stderr"), strings.NewReplacer(source, t.cell.Name, "./main.go", t.cell.Name, "# command-line-arguments\n", "").Replace(said.String()))
	switch {
	case t.ctx.Err() != nil:
		return Outcome{Err: &InterruptError{What: c.text}}
	case err != nil:
		return Outcome{Err: err}
	}
	return t.command(c.directive, shell.Command{Path: program, Args: args}, false)
}

// mainProgram adds the package clause that a cell may leave out, on the cell's first line.
func mainProgram(body string) string {
	if _, err := parser.ParseFile(token.NewFileSet(), "", body, parser.PackageClauseOnly); err == nil {
		return body
	}
	return "package main; " + body
}
