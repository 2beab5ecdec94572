//go:build !go1.26 || go1.27

package rtype

// Types are made to the layouts of Go 1.26, which other releases may change. Run
// the tests of this package and of eval with the release first, all of Go's own
// programs among them, and then allow it here and in package reflectx's tags.
var _ = the_types_of_Go_cells_are_made_for_Go_1_26_see_rtype_release_go
