package report

import (
	"fmt"
	"strings"
)

// EndlessError reports that a hold with an end was asked for of what the lease holds without one. Nothing was changed.
type EndlessError struct {
	// Holder is the lease or the order, as "order akash1…/7/1/1".
	Holder string
	// Things are what it holds, as "host/shop.example.com".
	Things []string
}

func (e *EndlessError) Error() string {
	const most = 10
	text := strings.Join(e.Things[:min(len(e.Things), most)], ", ")
	if more := len(e.Things) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s holds %s for good, and --expires would let others take it later. Nothing was changed; leave out --expires", e.Holder, text)
}
