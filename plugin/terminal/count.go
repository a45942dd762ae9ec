package terminal

import (
	"fmt"
	"strings"
)

// Count is a number of things, with their noun as that number asks for.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
