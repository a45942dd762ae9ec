//go:build tools

// Package helm pins the helm that the benchmarks render with.
package helm

import _ "helm.sh/helm/v4/cmd/helm"
