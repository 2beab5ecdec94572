package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
)

func wgslCommand() *cobra.Command {
	var (
		p       program
		out     string
		f16     bool
		sources bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "wgsl FILE [--shapes 8x16,16x12,12] [--f16] [--sources|--json] [-o OUT]",
		Short: "Print a program as compute shaders for WebGPU: what is dispatched over which buffers, and why",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if sources && asJSON {
				return usageError{errors.New("--sources prints text and --json a document: give one")}
			}
			compiled, err := p.compile(cmd.Context(), args)
			if err != nil {
				return err
			}
			plan, err := compiled.GPUPlan(f16)
			if err != nil {
				return err
			}
			return writeTo(cmd, out, func(w io.Writer) error {
				switch {
				case asJSON:
					return printJSON(w, plan.Plan)
				case sources:
					_, err := io.WriteString(w, plan.Source().Code)
					return err
				}
				return printText(w, plan.Text()+"\n")
			})
		}),
	}
	p.bindingFlags(cmd)
	p.resumeFlags(cmd)
	p.backend, p.threads = "interp", 1 // nothing is run
	cmd.Flags().BoolVar(&f16, "f16", false, "for devices with shader-f16, on which f16 takes two bytes")
	cmd.Flags().BoolVar(&sources, "sources", false, "print the shader modules in place of the plan")
	jsonFlag(cmd, &asJSON)
	outputFlag(cmd, &out)
	return cmd
}
