//go:build tools

// Package etcd pins the etcd that the testbed builds.
package etcd

import _ "go.etcd.io/etcd/server/v3"
