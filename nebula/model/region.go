package model

import (
	"fmt"
	"strings"

	"forgekernel/forge/ir"
)

// Region is the part of a decoder that a node belongs to.
type Region struct {
	Layer int    // -1 outside the layers
	Name  string // "attention qkv", "kv append", "ff down"; "embedding", "final norm", "head"
}

// Work sums regions up for a profile: "embedding", "attention", "kv append",
// "ff", "head" or "pipeline", which is the exchange between stages.
func (r Region) Work() string {
	for _, w := range []string{"attention", "ff"} {
		if strings.HasPrefix(r.Name, w) {
			return w
		}
	}
	switch r.Name {
	case "kv append":
		return r.Name
	case "final norm", "head":
		return "head"
	case "stage input", "stage output":
		return "pipeline"
	}
	return "embedding"
}

// String is the source of the positions in the region: "layer 3 attention qkv".
func (r Region) String() string {
	if r.Layer < 0 {
		return r.Name
	}
	return fmt.Sprintf("layer %d %s", r.Layer, r.Name)
}

// RegionOf reads the position of a node of [Model.Graph], also after passes.
func RegionOf(pos ir.Pos) (Region, bool) {
	r := Region{Layer: -1, Name: pos.Source}
	if n, _ := fmt.Sscanf(pos.Source, "layer %d", &r.Layer); n == 1 {
		r.Name = strings.TrimPrefix(pos.Source, fmt.Sprintf("layer %d ", r.Layer))
	}
	return r, pos.IsKnown() && pos.Source != ""
}
