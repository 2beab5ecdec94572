package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/forge"
)

func kernelSourceCommand() *cobra.Command {
	var (
		p       program
		o       forge.KernelOptions
		node    string
		numbers bool
		table   bool
		out     string
	)
	cmd := &cobra.Command{
		Use:   "kernel-source FILE --lang loop|c|cuda|triton|wgsl [--shapes 8x16,16x12,12] [--node %x] [--candidate N] [-o OUT]",
		Short: "Print the kernels that a backend writes for a program, without its compiler or device",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if o.Lang == "" {
				return usageError{fmt.Errorf("--lang says which language: %s", strings.Join(forge.KernelLanguages(), ", "))}
			}
			if cmd.Flags().Changed("candidate") && o.Candidate < 0 {
				return usageError{fmt.Errorf("--candidate counts from 0, and is not %d", o.Candidate)}
			}
			compiled, err := p.compile(cmd.Context(), args)
			if err != nil {
				return err
			}
			source, err := compiled.KernelSourceWith(o)
			if err != nil {
				return err
			}
			if n := len(source.Missing); len(source.Kernels) == 0 && n > 0 && !table {
				return fmt.Errorf("no node has a %s kernel: of %d, the first is %s", o.Lang, n, source.Missing[0])
			}
			if node != "" {
				if source, err = source.Of("%" + strings.TrimPrefix(node, "%")); err != nil {
					return fmt.Errorf("--node: %w", err)
				}
			}
			if err := writeTo(cmd, out, func(w io.Writer) error { return printKernels(w, source, table, numbers) }); err != nil || table || node != "" {
				return err // a table has what is missing
			}
			for _, m := range source.Missing {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: without a %s kernel: %s\n", o.Lang, m)
			}
			return nil
		}),
	}
	p.bindingFlags(cmd)
	p.resumeFlags(cmd)
	p.backend, p.threads = "interp", 1 // nothing is run
	cmd.Flags().StringVar(&o.Lang, "lang", "", "the language: "+strings.Join(forge.KernelLanguages(), ", "))
	cmd.Flags().StringVar(&o.Arch, "arch", forge.DefaultArch, "the architecture that CUDA C is for")
	cmd.Flags().IntVar(&o.Candidate, "candidate", -1, "which of the ways to run each node, counted from 0; the last where a node has fewer (default: the first, and all of Triton's)")
	cmd.Flags().StringVar(&node, "node", "", "only the kernels of this value, such as %h")
	cmd.Flags().BoolVar(&numbers, "line-numbers", false, "put the number of each line before it")
	cmd.Flags().BoolVar(&table, "table", false, "print which kernel implements which node in place of the source")
	outputFlag(cmd, &out)
	return cmd
}

// printKernels writes the source, or the table of its kernels.
func printKernels(w io.Writer, s *forge.KernelSource, table, numbers bool) error {
	if table {
		return printText(w, s.Table().Text())
	}
	for i, part := range s.Parts() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for j, line := range strings.Split(strings.TrimRight(part.Code, "\n"), "\n") {
			if numbers {
				line = fmt.Sprintf("%5d  %s", max(1, part.First)+j, line)
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}
