package script

// check resolves the names of a file.
func check(f *File, scope Scope, r *reporter) {}
