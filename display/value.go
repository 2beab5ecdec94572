package display

import "fmt"

// ToBundle returns how v is shown.
func ToBundle(v any) Bundle {
	if d, ok := v.(Displayer); ok {
		return d.Display()
	}
	return Text(fmt.Sprint(v))
}
