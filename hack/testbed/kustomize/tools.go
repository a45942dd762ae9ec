//go:build tools

// Package kustomize pins the kustomize that the benchmarks build with.
package kustomize

import _ "sigs.k8s.io/kustomize/kustomize/v5"
