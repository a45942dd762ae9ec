// Package lazy makes what most commands do not need when it is needed first, so that no start pays for it.
package lazy

import (
	"regexp"
	"sync"
)

// Pattern returns a function that returns the regular expression, which is compiled at its first call. It panics if that is none.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
