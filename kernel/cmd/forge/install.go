package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forgekernel/install"
	"forgekernel/install/magic"
)

func installCommand() *cobra.Command {
	var place install.Place
	var host, extension string
	cmd := &cobra.Command{
		Use:   "install [--user | --sys-prefix | --prefix DIR] [--extension DIR] | --host colab|kaggle [--prefix DIR]",
		Short: "Install the kernelspec, so that Jupyter offers Forge, and the IPython extension",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host != "" {
				return installOnHost(cmd.OutOrStdout(), host, place.Prefix)
			}
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
			if extension == "" {
				return nil
			}
			path, err := magic.Write(extension, binary)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote the IPython extension %s\n", path)
			return nil
		},
	}
	placeFlags(cmd, &place)
	cmd.Flags().StringVar(&host, "host", "", "on a machine of a notebook service, colab or kaggle: the binary goes to /usr/local or --prefix, the extension to where Python looks for modules")
	cmd.Flags().StringVar(&extension, "extension", "", "also write the IPython extension forge_magic.py into this folder")
	places := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if host != "" && (extension != "" || place.SysPrefix || cmd.Flags().Changed("user")) {
			return usageError{errors.New("--host settles the places itself: of the others it takes --prefix alone")}
		}
		return places(cmd, args)
	}
	return cmd
}

// installOnHost installs everything for a notebook service, if this is one of its machines.
func installOnHost(w io.Writer, name, prefix string) error {
	host, err := install.HostNamed(name)
	if err != nil {
		return err
	}
	if prefix == "" {
		prefix = "/usr/local"
	}
	done, err := host.Install(prefix)
	if err != nil {
		return err
	}
	done.Explain(w)
	return nil
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
