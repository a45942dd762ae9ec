// Package version describes this build of the plugin.
package version

import (
	"runtime"
	"runtime/debug"
)

// Version is set by the linker. A build without it has the version of its Go module.
var Version string

// Info is the output of "version -o json".
type Info struct {
	Version    string `json:"version"`
	Commit     string `json:"gitCommit,omitempty"`
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"clientGoVersion,omitempty"`
}

// Of returns the version information of this build.
func Of() Info {
	info := Info{Version: Version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			info.Commit = s.Value
		}
	}
	for _, dep := range build.Deps {
		if dep.Path == "k8s.io/client-go" {
			info.Kubernetes = dep.Version
		}
	}
	return info
}
