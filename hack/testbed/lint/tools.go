//go:build tools

// Package lint pins the golangci-lint that `make lint` runs.
package lint

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
