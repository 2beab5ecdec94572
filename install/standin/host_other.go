//go:build !linux

package standin

import (
	"errors"
	"testing"
)

var errLinux = errors.New("hosts run Linux, and are played on Linux alone")

// Possible says why hosts cannot be played here.
func Possible() error { return errLinux }

func (s Service) inside(hostJob) error         { return errLinux }
func (s Service) launch(string, hostJob) error { return errLinux }
func (s Service) end(*testing.T)               {}

func supervise(string) int { return 1 }
func enter(string) int     { return 1 }
