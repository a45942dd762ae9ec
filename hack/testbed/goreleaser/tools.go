//go:build tools

// Package goreleaser pins the goreleaser that makes a release.
package goreleaser

import _ "github.com/goreleaser/goreleaser/v2"
