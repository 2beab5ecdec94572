//go:build !amd64 && !arm64

package rtype

// The code of slots is assembly.
var _ = the_methods_of_Go_cells_have_code_for_amd64_and_arm64_see_rtype_slots_go
