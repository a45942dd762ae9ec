package watch

import (
	"context"
	"errors"
	"sync"
)

// complaints passes on what goes wrong and concerns no lease alone: once, until it is over.
type complaints struct {
	complain func(error)

	mu   sync.Mutex
	said string
}

// note notes how some work has ended. nil says that what went wrong before is over.
func (c *complaints) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.said
	if c.said = ""; err == nil {
		return
	}
	if c.said = err.Error(); c.said != was {
		c.complain(err)
	}
}
