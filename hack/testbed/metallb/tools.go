//go:build tools

// Package metallb pins the MetalLB controller that the testbed builds.
package metallb

import _ "go.universe.tf/metallb/controller"
