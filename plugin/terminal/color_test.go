package terminal

import (
	"bytes"
	"testing"
)

func TestColorOfPipe(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for text, want := range map[string]bool{"auto": false, "never": false, "always": true} {
		var c Color
		if err := c.Set(text); err != nil || c.On(&bytes.Buffer{}) != want {
			t.Errorf("--color=%s: %v, %v", text, c.On(&bytes.Buffer{}), err)
		}
	}
	var c Color
	if c.On(&bytes.Buffer{}) || c.Set("yes") == nil {
		t.Error("a pipe has colours, or --color=yes is accepted")
	}
}
