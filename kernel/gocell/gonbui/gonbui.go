// Package gonbui offers the functions of gonb's package of the same name, on
// the display package, so that notebooks written for gonb run unchanged. Go
// cells import it as github.com/janpfeifer/gonb/gonbui.
package gonbui

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"sync"

	"github.com/google/uuid"

	"forgekernel/display"
	"forgekernel/kernel/gocell/prompt"
)

// IsNotebook is true: cells only ever run in a notebook.
var IsNotebook = true

// DisplayHTML shows HTML.
func DisplayHTML(html string) { display.Show(display.HTML(html)) }

// DisplayHtml is DisplayHTML.
func DisplayHtml(html string) { DisplayHTML(html) }

// DisplayHTMLF shows HTML given as a format and its arguments.
func DisplayHTMLF(format string, args ...any) { DisplayHTML(fmt.Sprintf(format, args...)) }

// DisplayHtmlf is DisplayHTMLF.
func DisplayHtmlf(format string, args ...any) { DisplayHTMLF(format, args...) }

// DisplayMarkdown shows Markdown.
func DisplayMarkdown(markdown string) { display.Show(display.Markdown(markdown)) }

// DisplaySVG shows an SVG image.
func DisplaySVG(svg string) { display.Show(display.SVG(svg)) }

// DisplaySvg is DisplaySVG.
func DisplaySvg(svg string) { DisplaySVG(svg) }

// DisplayPNG shows an encoded PNG image.
func DisplayPNG(png []byte) { display.Show(display.PNG(png)) }

// DisplayPng is DisplayPNG.
func DisplayPng(png []byte) { DisplayPNG(png) }

// DisplayImage shows an image as PNG. It fails when the image cannot be encoded.
func DisplayImage(img image.Image) error {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return err
	}
	DisplayPNG(b.Bytes())
	return nil
}

// EmbedImageAsPNGSrc returns an image as a data URL for the src of an <img>.
func EmbedImageAsPNGSrc(img image.Image) (string, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// UpdateHTML shows HTML in the block named id, replacing what the block held.
func UpdateHTML(id, html string) { update(id, display.HTML(html)) }

// UpdateHtml is UpdateHTML.
func UpdateHtml(id, html string) { UpdateHTML(id, html) }

// UpdateMarkdown shows Markdown in the block named id, replacing what the block
// held.
func UpdateMarkdown(id, markdown string) { update(id, display.Markdown(markdown)) }

// blocks has the ids that have been shown.
var blocks struct {
	sync.Mutex
	shown map[string]bool
}

func update(id string, b display.Bundle) {
	blocks.Lock()
	defer blocks.Unlock()
	if blocks.shown[id] {
		display.Update(id, b)
		return
	}
	if blocks.shown == nil {
		blocks.shown = map[string]bool{}
	}
	blocks.shown[id] = true
	display.ShowID(id, b)
}

// UniqueID returns an id for UpdateHTML that nothing else uses.
func UniqueID() string { return uuid.NewString() }

// UniqueId is UniqueID.
func UniqueId() string { return UniqueID() }

// RequestInput asks the person for a line, which becomes the next line of the
// cell's standard input; read it with fmt.Scanln or bufio. It panics when
// nobody can be asked: gonb's signature has no error to return.
func RequestInput(text string, password bool) {
	if err := prompt.Ask(text, password); err != nil {
		panic(fmt.Errorf("gonbui.RequestInput: %w", err))
	}
}

// Sync returns at once: displays are in order with everything else that a cell
// prints.
func Sync() {}
