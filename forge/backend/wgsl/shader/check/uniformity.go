package check

type effect struct{}

func (c *checker) uniformity(f *Func) {}
func (c *checker) aliases(x *Expr)    {}
