package forge

// ReadNPZ reads the arrays of an .npz archive, as numpy.savez writes it, by
// name. Integers of fewer bits become i64; [Tensor.Convert] makes another
// element type of any.
func ReadNPZ(path string) (map[string]*Tensor, error) {
	named, err := readArchive(path)
	if err != nil {
		return nil, err
	}
	arrays := make(map[string]*Tensor, len(named))
	for _, n := range named {
		arrays[n.Name] = n.Tensor
	}
	return arrays, nil
}
