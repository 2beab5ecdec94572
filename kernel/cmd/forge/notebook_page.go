package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/forge/textfile"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/export"
	readers "forgekernel/kernel/notebook/report"
	"forgekernel/kernel/notebook/scaffold"
)

func notebookNewCommand() *cobra.Command {
	var template, title string
	cmd := &cobra.Command{
		Use:   "new NAME [--template " + strings.Join(scaffold.Names(), "|") + "] [--title TITLE]",
		Short: "Write a notebook to begin with, which runs as it is",
		Args:  oneArgument("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := strings.TrimSuffix(args[0], ".ipynb") + ".ipynb"
			if strings.HasPrefix(filepath.Base(path), ".") {
				return usageError{fmt.Errorf("%q is not the name of a notebook", args[0])}
			}
			if title == "" {
				title = scaffold.Title(strings.TrimSuffix(filepath.Base(path), ".ipynb"))
			}
			nb, err := scaffold.New(template, title)
			if err != nil {
				return usageError{fmt.Errorf("--template: %w", err)}
			}
			if err := checkWritable(path); err != nil {
				return err
			}
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s is there already; give another name, or remove it", path)
			}
			if err := nb.WriteFile(path); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "wrote", path)
			return nil
		},
	}
	cmd.Flags().StringVar(&template, "template", scaffold.Names()[0], "what it is for: "+strings.Join(scaffold.Names(), ", "))
	cmd.Flags().StringVar(&title, "title", "", "its heading (default: made of the name)")
	return cmd
}

// page are the flags of commands that write a page of a notebook as it stands.
type page struct {
	out       string
	untrusted bool
}

func (p *page) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.out, "output", "o", "", "the page, or - for standard output (default: beside the notebook)")
	cmd.Flags().BoolVar(&p.untrusted, "untrusted", false, "sanitise HTML and SVG of the notebook")
}

// write writes the page of a notebook that was read from path.
func (p *page) write(cmd *cobra.Command, nb *notebook.Notebook, path, suffix string) error {
	opts := export.Options{Trusted: !p.untrusted}
	if p.out == "-" {
		return export.HTML(cmd.OutOrStdout(), nb, opts)
	}
	if p.out == "" {
		p.out = strings.TrimSuffix(path, ".ipynb") + suffix
	}
	if sameFile(path, p.out) {
		return usageError{fmt.Errorf("--output is the notebook itself: a page would replace it")}
	}
	if err := export.HTMLFile(p.out, nb, opts); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "wrote", p.out)
	return nil
}

// sameFile reports whether two paths lead to one file that exists.
func sameFile(a, b string) bool {
	one, errOne := os.Stat(a)
	other, errOther := os.Stat(b)
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

func notebookHTMLCommand() *cobra.Command {
	p := &page{}
	cmd := &cobra.Command{
		Use:   "html IN [-o OUT]",
		Short: "Export a notebook to one self-contained page, as it stands",
		Args:  oneArgument("notebook"),
		RunE: func(cmd *cobra.Command, args []string) error {
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			return p.write(cmd, nb, args[0], ".html")
		},
	}
	p.flags(cmd)
	return cmd
}

func notebookReportCommand() *cobra.Command {
	p := &page{}
	cmd := &cobra.Command{
		Use:   "report IN [-o OUT]",
		Short: "Export an executed notebook with the machine, versions, hashes and how to do it again; captures are verified and drawn again",
		Args:  oneArgument("notebook"),
		RunE: func(cmd *cobra.Command, args []string) error {
			nb, hash, err := readHashed(args[0])
			if err != nil {
				return err
			}
			nb, err = readers.Build(nb, readers.Source{Name: filepath.Base(args[0]), SHA256: hash})
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return p.write(cmd, nb, args[0], ".report.html")
		},
	}
	p.flags(cmd)
	return cmd
}

// readHashed reads a notebook, and the SHA-256 of its file.
func readHashed(path string) (*notebook.Notebook, string, error) {
	content, err := textfile.Read(path, notebook.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	nb, err := notebook.Read(bytes.NewReader(content))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(content)
	return nb, hex.EncodeToString(sum[:]), nil
}
