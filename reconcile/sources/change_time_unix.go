//go:build unix

package sources

import (
	"time"

	"golang.org/x/sys/unix"
)

// changeTime returns when a file was changed last: unlike the time of modification, no program can set it. It is zero if that is not
// known.
func changeTime(path string) time.Time {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return time.Time{}
	}
	return time.Unix(stat.Ctim.Unix())
}
