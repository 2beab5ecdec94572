package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"forgekernel/install"
)

func installCommand() *cobra.Command {
	var place install.Place
	cmd := &cobra.Command{
		Use:   "install [--user | --sys-prefix | --prefix DIR]",
		Short: "Install the kernelspec, so that Jupyter offers Forge",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := place.DataDir()
			if err != nil {
				return err
			}
			binary, err := install.Executable()
			if err != nil {
				return err
			}
			dir, err := install.Install(data, install.KernelSpec(binary))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Installed kernelspec %s in %s\n", install.Name, dir)
			return nil
		},
	}
	placeFlags(cmd, &place)
	return cmd
}

func uninstallCommand() *cobra.Command {
	var place install.Place
	cmd := &cobra.Command{
		Use:   "uninstall [--user | --sys-prefix | --prefix DIR]",
		Short: "Remove the kernelspec",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := place.DataDir()
			if err != nil {
				return err
			}
			dir, err := install.Uninstall(data)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Removed %s\n", dir)
			return nil
		},
	}
	placeFlags(cmd, &place)
	return cmd
}

// placeFlags adds the flags that say where; at most one may be given.
func placeFlags(cmd *cobra.Command, place *install.Place) {
	user := cmd.Flags().Bool("user", false, "the user's own Jupyter directory (the default)")
	cmd.Flags().BoolVar(&place.SysPrefix, "sys-prefix", false, "the active Python environment")
	cmd.Flags().StringVar(&place.Prefix, "prefix", "", "DIR/share/jupyter")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if (*user && place.SysPrefix) || ((*user || place.SysPrefix) && place.Prefix != "") {
			return usageError{errors.New("--user, --sys-prefix and --prefix name different places: give one")}
		}
		return nil
	}
}
