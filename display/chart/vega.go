package chart

import (
	"encoding/json"
	"math"
	"slices"

	"forgekernel/display/internal/palette"
)

// object is a JSON object of Vega-Lite.
type object = map[string]any

// vegaFont is the family of text, which no front end has to have.
const vegaFont = "Helvetica Neue, Helvetica, Arial, sans-serif"

// vega is the figure as a Vega-Lite 5 specification: the same axes, ticks and colours
// as in the pictures, so that all forms of a figure say the same.
func (l *laid) vega() object {
	ink, faint := palette.Hex(l.colour.Card.Text), palette.Hex(l.colour.Faint)
	spec := object{
		"$schema":    "https://vega.github.io/schema/vega-lite/v5.json",
		"background": palette.Hex(l.colour.Card.Fill),
		"padding":    cardPad,
		"config": object{
			"font": vegaFont, "view": object{"stroke": nil},
			"axis": object{
				"labelFontSize": tickSize, "titleFontSize": tickSize, "labelColor": faint, "titleColor": faint, "titleFontWeight": "normal",
				"gridColor": palette.Hex(l.colour.Grid), "domain": false, "ticks": false, "labelPadding": tickGap, "labelLimit": 0,
			},
			"axisX":  object{"domain": true, "domainColor": palette.Hex(l.colour.Edge)},
			"legend": object{"orient": "bottom", "labelColor": faint, "labelFontSize": tickSize, "labelLimit": 0, "title": nil, "columns": 4, "symbolStrokeWidth": 2},
			"title":  object{"color": ink, "subtitleColor": faint, "fontSize": panelSize, "fontWeight": 600, "subtitleFontSize": tickSize, "anchor": "start", "frame": "group"},
		},
	}
	if len(l.title)+len(l.note) > 0 {
		spec["title"] = object{"text": l.title, "subtitle": l.note, "fontSize": titleSize, "offset": 10}
	}
	var charts []object
	for i := range l.panels {
		charts = append(charts, l.vegaPanel(&l.panels[i]))
	}
	if len(charts) == 1 && l.panels[0].Title == "" {
		for k, v := range charts[0] {
			spec[k] = v
		}
		return spec
	}
	spec["vconcat"] = charts
	return spec
}

func (l *laid) vegaPanel(p *panel) object {
	domain, colours := []string{}, []string{}
	for _, e := range l.legend {
		domain, colours = append(domain, e.name), append(colours, l.vegaColour(e.layer))
	}
	x := vegaAxis(p.X, p.xs, p.xTicks)
	y := vegaAxis(p.Y, p.ys, p.yTicks)
	if axis, is := y["axis"].(object); is && p.Y.Title != "" {
		for k, v := range (object{"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -tickSize}) {
			axis[k] = v
		}
	}
	x["field"], y["field"] = "x", "y"
	chart := object{"width": p.Width, "height": p.Height, "encoding": object{"x": x, "y": y}}
	if p.Title != "" {
		chart["title"] = p.Title
	}
	layers := []object{}
	for _, layer := range p.Layers {
		colour := object{"value": l.vegaColour(layer)}
		if layer.Name != "" && len(domain) > 0 {
			colour = object{"datum": layer.Name, "type": "nominal", "scale": object{"domain": domain, "range": colours}, "legend": object{}}
		}
		layers = append(layers, l.vegaLayer(p, layer, colour)...)
	}
	chart["layer"] = layers
	return chart
}

// vegaColour is what the legend shows of a layer.
func (l *laid) vegaColour(layer Layer) string {
	t := l.pen(layer).Tint
	switch layer.Kind {
	case Area:
		return palette.Hex(t.Fill)
	case Text:
		if layer.Colour == "" || layer.Colour == Ink {
			return palette.Hex(l.colour.Card.Text)
		}
		return palette.Hex(t.Text)
	}
	return palette.Hex(t.Stroke)
}

// vegaAxis gives an axis its scale, and its ticks the labels of the pictures.
func vegaAxis(a Axis, s scale, ticks []Tick) object {
	scale := object{"domain": []float64{s.min, s.max}, "nice": false}
	if a.Reverse {
		scale["reverse"] = true
	}
	if a.Log { // which has no zero: Vega-Lite warns of being told so
		scale["type"] = "log"
	} else {
		scale["zero"] = false
	}
	values, labels := []float64{}, []string{}
	for _, t := range ticks {
		values, labels = append(values, t.At), append(labels, short(t.Label))
	}
	at, _ := json.Marshal(values) // finite numbers and strings have a form in JSON
	names, _ := json.Marshal(labels)
	axis := object{"values": values, "labelExpr": string(names) + "[indexof(" + string(at) + ",datum.value)]", "grid": a.Ticks == nil, "title": nil}
	if a.Title != "" {
		axis["title"] = a.Title
	}
	return object{"type": "quantitative", "scale": scale, "axis": axis}
}

// vegaLayer is the marks of a layer, and the texts in rectangles where they fit.
func (l *laid) vegaLayer(p *panel, layer Layer, colour object) []object {
	pen := l.pen(layer)
	stroke := palette.Hex(pen.Stroke)
	encoding := object{"color": colour}
	var mark object
	switch layer.Kind {
	case Rect: // the legend shows the border, which is what tells light tints apart
		mark = object{"type": "rect", "fill": palette.Hex(pen.Fill), "strokeWidth": 1, "cornerRadius": 2}
		encoding = object{"stroke": colour}
	case Line:
		mark = object{"type": "line", "strokeWidth": pen.width}
		encoding["order"] = object{"field": "i"}
	case Area:
		mark = object{"type": "area", "opacity": 1}
	case Point:
		mark = object{"type": "point", "filled": layer.Shape != Ring, "size": pen.width * pen.width, "opacity": 1}
		if layer.Shape == Square {
			mark["shape"] = "square"
		}
	case Rule:
		mark = object{"type": "rule", "strokeWidth": pen.width}
	default:
		mark = object{"type": "text", "fontSize": tickSize, "baseline": "middle", "align": [...]string{"left", "center", "right"}[layer.Anchor], "dx": layer.DX, "dy": layer.DY}
		encoding["text"] = object{"field": "t"}
	}
	if layer.Kind != Text {
		mark["clip"] = true
	}
	if layer.Dashed {
		mark["strokeDash"] = []int{5, 4}
	}
	switch layer.Kind {
	case Rect, Rule:
		encoding["x2"], encoding["y2"] = object{"field": "x2"}, object{"field": "y2"}
	case Area:
		encoding["y2"] = object{"field": "y2"}
	}
	values := l.vegaData(p, layer)
	for _, v := range values {
		if v["tip"] != nil {
			encoding["tooltip"] = object{"field": "tip"}
			break
		}
	}
	list := []object{{"mark": mark, "encoding": encoding, "data": object{"values": values}}}
	switch layer.Kind {
	case Area:
		list = append(list, object{
			"mark":     object{"type": "line", "stroke": stroke, "strokeWidth": pen.width, "clip": true},
			"encoding": object{"order": object{"field": "i"}}, "data": object{"values": p.vegaOutline(layer)},
		})
	case Rect:
		if texts := p.vegaTexts(layer); len(texts) > 0 {
			list = append(list, object{
				"mark":     object{"type": "text", "fontSize": tickSize, "color": palette.Hex(pen.Text), "baseline": "middle"},
				"encoding": object{"text": object{"field": "t"}}, "data": object{"values": texts},
			})
		}
	}
	return list
}

// vegaData is the data of a layer with no field that its marks do not use.
func (l *laid) vegaData(p *panel, layer Layer) []object {
	list := make([]object, len(layer.Data))
	for i, d := range layer.Data {
		v := object{"x": number(p.xs.end(d.X)), "y": number(p.ys.end(d.Y))}
		switch layer.Kind {
		case Rect, Rule:
			v["x2"], v["y2"] = number(p.xs.end(d.X2)), number(p.ys.end(d.Y2))
		case Area:
			v["y2"] = number(p.ys.end(d.Y2))
		case Line:
			v["i"] = i
		case Text:
			v["t"] = d.Text
		}
		if d.Tip != "" {
			v["tip"] = d.Tip
		}
		list[i] = v
	}
	return list
}

// vegaOutline goes along the upper edge of an area and back along the lower one: a line
// that the mark of an area can have would be of its own colour.
func (p *panel) vegaOutline(layer Layer) (list []object) {
	add := func(x, y float64) {
		list = append(list, object{"x": number(p.xs.end(x)), "y": number(p.ys.end(y)), "i": len(list)})
	}
	for _, d := range layer.Data {
		add(d.X, d.Y)
	}
	for _, d := range slices.Backward(layer.Data) {
		add(d.X, d.Y2)
	}
	return list
}

// vegaTexts are the texts that fit into their rectangles.
func (p *panel) vegaTexts(layer Layer) (list []object) {
	for _, d := range layer.Data {
		x, x2, y, y2 := p.xs.at(d.X), p.xs.at(d.X2), p.ys.at(d.Y), p.ys.at(d.Y2)
		if fits(d.Text, math.Abs(x2-x), math.Abs(y2-y)) {
			list = append(list, object{"x": number((p.xs.end(d.X) + p.xs.end(d.X2)) / 2), "y": number((p.ys.end(d.Y) + p.ys.end(d.Y2)) / 2), "t": d.Text})
		}
	}
	return list
}

// number keeps seven digits, which no picture exceeds.
func number(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	scale := math.Pow(10, float64(6-int(math.Floor(math.Log10(math.Abs(x))))))
	if math.IsInf(scale, 0) || scale == 0 {
		return x
	}
	return math.Round(x*scale) / scale
}
