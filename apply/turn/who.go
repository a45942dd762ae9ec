package turn

import (
	"os"
	"os/user"
)

// WhoRuns returns the user and host that run the command, as USER@HOST.
func WhoRuns() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		host = h
	}
	return name + "@" + host
}
