package lease

import (
	"math"
	"slices"
	"strings"
	"time"
)

// The limits of Akash's HTTP options (chain-sdk: go/sdl/v2.go). The time for further tries is limited only by Akash's
// field, 32 bits of milliseconds.
const (
	MaxBodySizeLimit = 104857600
	TimeoutLimit     = time.Minute
	nextTimeoutLimit = math.MaxUint32 * time.Millisecond
)

// nextCases are the values that Akash accepts (chain-sdk: go/sdl/v2.go).
var nextCases = []string{"error", "timeout", "500", "502", "503", "504", "403", "404", "429", "off"}

// maxNextCases limits the next cases of a route. Akash knows nine, and allows to repeat them; each route has them in an
// annotation.
const maxNextCases = 32

// listedCases is nextCases as a text for messages.
var listedCases = strings.Join(nextCases, ", ")

// IsNextCase reports whether Akash accepts the value.
func IsNextCase(s string) bool { return slices.Contains(nextCases, s) }

func (c *checker) http(e *Expose) {
	o, at := &e.HTTP, e.HTTPAt
	if at == nil {
		at = &HTTPPlaces{e.At, e.At, e.At, e.At, e.At, e.At}
	}
	if o.MaxBodySize > MaxBodySizeLimit {
		c.problems.Add(at.MaxBodySize, "the body size %d is greater than %d bytes", o.MaxBodySize, MaxBodySizeLimit)
	}
	c.timeout(at.ReadTimeout, "read timeout", o.ReadTimeout, TimeoutLimit)
	c.timeout(at.SendTimeout, "send timeout", o.SendTimeout, TimeoutLimit)
	c.timeout(at.NextTimeout, "next timeout", o.NextTimeout, nextTimeoutLimit)
	for _, n := range o.NextCases[:min(len(o.NextCases), maxNextCases)] {
		if !IsNextCase(n) {
			c.problems.Add(at.NextCases, "next case %q is unknown; known are %s", n, listedCases)
		}
	}
	if len(o.NextCases) > maxNextCases {
		c.problems.Add(at.NextCases, "there are %d next cases; at most %d are allowed", len(o.NextCases), maxNextCases)
	}
	if len(o.NextCases) > 1 && slices.Contains(o.NextCases, "off") {
		c.problems.Add(at.NextCases, "beside \"off\" there may be no other case")
	}
}

func (c *checker) timeout(at Place, what string, d, limit time.Duration) {
	switch {
	case d < 0:
		c.problems.Add(at, "the %s is negative", what)
	case d%time.Millisecond != 0:
		c.problems.Add(at, "the %s %s is not a whole number of milliseconds", what, d)
	case d > limit:
		c.problems.Add(at, "the %s %s is longer than %s", what, d, limit)
	}
}
