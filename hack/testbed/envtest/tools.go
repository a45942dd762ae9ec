//go:build tools

// Package envtest pins the setup-envtest that fetches a control plane's programs.
package envtest

import _ "sigs.k8s.io/controller-runtime/tools/setup-envtest"
