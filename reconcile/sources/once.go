package sources

import "context"

// Once returns what a source says first.
func Once(ctx context.Context, s Source) (set Set, err error) {
	once, done := context.WithCancel(ctx)
	defer done()
	err = s.Run(once, func(first Set) {
		if once.Err() == nil {
			set = first
		}
		done()
	})
	if err == nil {
		err = ctx.Err()
	}
	return set, err
}
