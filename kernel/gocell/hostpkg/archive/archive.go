// Package archive is the layout of the zip file that carries export data and
// documentation: written by the gen command, read by hostpkg.
package archive

import "slices"

// ManifestFile is the member that holds a Manifest as JSON.
const ManifestFile = "manifest.json"

// Predeclared is the package that documents what every Go file knows. Nothing
// can import it.
const Predeclared = "builtin"

// Manifest describes the archive.
type Manifest struct {
	Stamp    string // identifies the generation; the symbol tables carry the same
	Go       string // release that the export data belongs to
	Packages []Package
}

// Package is one importable package.
type Package struct {
	Path, Name string
	// Deps are the importable packages that the export data mentions. They are
	// read before it.
	Deps []string `json:",omitempty"`
}

// ExportFile is the member with the export data of a package.
func ExportFile(path string) string { return "export/" + path }

// DocFile is the member with the documentation of a package: a JSON object of
// texts by name, "" for the package itself.
func DocFile(path string) string { return "doc/" + path }

// SourceFile is the member with the Go files of a package: a JSON object of
// texts by file name.
func SourceFile(path string) string { return "source/" + path }

// HasSource reports whether the archive holds the source of a package: of those
// that consist of generic functions, which reflection cannot call, and of those
// that are interpreted.
func HasSource(path string) bool {
	switch path {
	case "cmp", "maps", "slices":
		return true
	}
	return Interpreted(path)
}

// Interpreted reports whether cells run a package from its source, although it
// could be compiled into the binary: one that notebooks rarely import, that
// does not compute for long, and that is written in plain Go. Its source takes a
// tenth of the room of its code. Compiled packages that cells can import do not
// have its types in theirs.
func Interpreted(path string) bool { return slices.Contains(interpreted, path) }

// The last line is what others of them import and cells cannot.
var interpreted = []string{
	"debug/buildinfo", "debug/dwarf", "debug/elf", "debug/macho", "debug/pe", "debug/plan9obj",
	"go/doc", "go/doc/comment", "go/format", "go/printer", "index/suffixarray",
	"net/http/cookiejar", "net/http/fcgi", "net/mail", "net/rpc", "net/rpc/jsonrpc", "net/smtp",
	"testing/fstest", "testing/iotest", "testing/slogtest",
	"gonum.org/v1/plot/palette/brewer", "gonum.org/v1/plot/palette/moreland",

	"internal/lazyregexp", "internal/saferio", "internal/xcoff", "internal/zstd", "net/http/internal/ascii",
}
