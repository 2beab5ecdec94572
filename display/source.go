package display

// Source is a listing of program text. Lang names its language: "c", "cuda",
// "wgsl", "triton", "python", "go", "forgescript", "ir", or any other name
// that the highlighter knows; an unknown one is shown without colours.
type Source struct {
	Lang      string
	Code      string
	Name      string // file or kernel name shown above the listing; may be empty
	Highlight []int  // 1-based numbers of lines to mark
}
