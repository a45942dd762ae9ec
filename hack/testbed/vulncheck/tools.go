//go:build tools

// Package vulncheck pins the govulncheck of `make vulncheck`, and a database of vulnerabilities for where its own cannot be reached.
package vulncheck

import (
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "golang.org/x/vulndb/report"
)
