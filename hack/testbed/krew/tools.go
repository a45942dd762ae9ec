//go:build tools

// Package krew pins the krew and the manifest validator that the testbed builds.
package krew

import (
	_ "sigs.k8s.io/krew/cmd/krew"
	_ "sigs.k8s.io/krew/cmd/validate-krew-manifest"
)
