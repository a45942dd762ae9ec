//go:build tools

// Package cyclonedx pins the program that writes the bills of materials of a release.
package cyclonedx

import _ "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"
