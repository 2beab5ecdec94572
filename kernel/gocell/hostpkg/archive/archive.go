// Package archive is the layout of the zip file that carries export data and
// documentation: written by the gen command, read by hostpkg.
package archive

// ManifestFile is the member that holds a Manifest as JSON.
const ManifestFile = "manifest.json"

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

// HasSource reports whether the archive holds the source of a package. It does
// for those that consist of generic functions, which reflection cannot call.
func HasSource(path string) bool {
	switch path {
	case "cmp", "maps", "slices":
		return true
	}
	return false
}
