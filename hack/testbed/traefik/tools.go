//go:build tools

// Package traefik pins the Traefik that serves real requests through the routes of test/traffic.
package traefik

import _ "github.com/traefik/traefik/v3/cmd/traefik"
