package pt2

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/pt2/archive"
)

// frame is a line of a stack trace, outermost first.
var frame = regexp.MustCompile(`File "([^"]+)", line ([0-9]+)`)

// position is where the user's Python calls the operator: the innermost frame that
// is not PyTorch's. Files are named by their last part.
func (im *imports) position(n *archive.Node) ir.Pos {
	found := ir.Pos{Source: im.model.name, Line: im.ordinal}
	for _, f := range frame.FindAllStringSubmatch(n.Metadata["stack_trace"], -1) {
		line, err := strconv.Atoi(f[2])
		if err != nil || line < 1 || ofTorch(f[1]) {
			continue
		}
		found = ir.Pos{Source: path.Base(strings.ReplaceAll(f[1], `\`, "/")), Line: line}
	}
	return found
}

func ofTorch(file string) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	return strings.HasPrefix(file, "torch/") || strings.Contains(file, "/site-packages/torch/") || strings.Contains(file, "/dist-packages/torch/")
}

// describe names a node for messages, with the place that calls it.
func (im *imports) describe(n *archive.Node) string {
	text := strings.TrimPrefix(n.Target, "torch.ops.")
	name := n.Name
	if name == "" && len(n.Outputs) > 0 && len(n.Outputs[0].Names) > 0 {
		name = n.Outputs[0].Names[0]
	}
	if name != "" {
		text += " " + strconv.Quote(name)
	}
	at := im.position(n)
	return text + " (" + at.Source + ":" + strconv.Itoa(at.Line) + ")"
}
