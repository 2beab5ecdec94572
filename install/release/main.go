// Command release builds what people download: for each platform an archive of the binary,
// the IPython extension and a kernelspec, and the checksums of all archives. Package install
// shows what is in one.
//
// A release is of a commit. Its files are taken out of git into a temporary folder and built
// there, so that nothing else of the working tree gets in, and every byte of the archives
// follows from the commit and the release of Go: times are those of the commit, names and
// owners are fixed, and the binaries hold neither paths nor build ids. Built again, the
// checksums are the same.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// platforms are GOOS/GOARCH, as the go command names them.
const platforms = "linux/amd64,linux/arm64,darwin/arm64"

func main() {
	out := flag.String("o", "build/release", "folder of the archives")
	list := flag.String("platforms", platforms, "what to build for, as GOOS/GOARCH, with commas")
	flag.Parse()
	if err := release(*out, strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds the committed files of the repository in the current folder.
func release(out string, platforms []string) error {
	if changed, err := command(".", nil, "git", "status", "--porcelain", "--untracked-files=no"); err != nil {
		return err
	} else if changed != "" {
		return fmt.Errorf("a release is of a commit, and these files are changed:\n%s", changed)
	}
	src, err := checkout()
	if err != nil {
		return err
	}
	defer os.RemoveAll(src.dir)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		files, err := src.build(platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		name := fmt.Sprintf("forge-%s-%s", src.version, strings.ReplaceAll(platform, "/", "-"))
		archive, err := pack(name, src.time, files)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := os.WriteFile(filepath.Join(out, name+".tar.gz"), archive, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s.tar.gz\n", sha256.Sum256(archive), name)
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
