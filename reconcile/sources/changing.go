package sources

import "context"

// Changing is a source of which somebody says when it has changed.
type Changing struct {
	// Read reads all of it.
	Read func(context.Context) Set
	// Changed has an item if something has changed since the last one was taken.
	Changed <-chan struct{}
}

// Run implements Source. Changes that follow each other are read once.
func (c Changing) Run(ctx context.Context, say func(Set)) error {
	said := ""
	for {
		if set := c.Read(ctx); ctx.Err() == nil && set.sum() != said {
			said = set.sum()
			say(set)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Changed:
		}
		quiet(ctx, c.Changed, nil)
	}
}
