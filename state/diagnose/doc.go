// Package diagnose finds what is wrong in a cluster, with what mends it, and explains how one thing stands.
package diagnose
