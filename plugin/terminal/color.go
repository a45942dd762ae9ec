package terminal

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Color is the value of --color: when to print colours, "" as ColorAuto.
type Color string

// The values of --color.
const (
	// ColorAuto prints colours on a terminal that is not dumb, unless NO_COLOR (no-color.org) is set.
	ColorAuto   Color = "auto"
	ColorAlways Color = "always"
	ColorNever  Color = "never"
)

// Set reads the value of the flag.
func (c *Color) Set(text string) error {
	if !slices.Contains([]Color{ColorAuto, ColorAlways, ColorNever}, Color(text)) {
		return errors.New("must be 'auto', 'always' or 'never'")
	}
	*c = Color(text)
	return nil
}

func (c *Color) String() string { return string(*c) }

// Type is the type of the flag in its help.
func (c *Color) Type() string { return "string" }

// On reports whether to print colours to a stream.
func (c *Color) On(out io.Writer) bool {
	switch *c {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
