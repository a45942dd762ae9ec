package release

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/akash-net/kubectl-akash-net/manifests"
)

// Manifest is the krew manifest with the version put into it, and for each archive its address
// and digest. All else, comments too, stays.
func Manifest(manifest []byte, version string, archives []Archive) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(manifest, &document); err != nil {
		return nil, err
	}
	spec := at(&document, "spec")
	at(spec, "version").SetString(version)
	platforms := map[Platform]*yaml.Node{}
	for _, platform := range at(spec, "platforms").Content {
		labels := at(at(platform, "selector"), "matchLabels")
		selected := Platform{at(labels, "os").Value, at(labels, "arch").Value}
		platforms[selected] = platform
		at(platform, "uri").SetString(URI(version, selected))
	}
	for _, archive := range archives {
		platform, ok := platforms[archive.Platform]
		if !ok {
			return nil, fmt.Errorf("the krew manifest has no platform %s/%s", archive.OS, archive.Arch)
		}
		at(platform, "sha256").SetString(archive.SHA256)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// Kustomization is the kustomization with the version as the tag of the image. All else, comments too, stays.
func Kustomization(kustomization []byte, version string) ([]byte, error) {
	before, after, found := bytes.Cut(kustomization, []byte("- name: "+manifests.ImageName+"\n  newTag: "))
	if !found {
		return nil, fmt.Errorf("the kustomization has no tag of %s", manifests.ImageName)
	}
	_, after, _ = bytes.Cut(after, []byte("\n"))
	return slices.Concat(before, []byte("- name: "+manifests.ImageName+"\n  newTag: "+version+"\n"), after), nil
}

// URI is where a release's archive is published.
func URI(version string, platform Platform) string {
	return "https://github.com/akash-net/kubectl-akash-net/releases/download/" + version + "/" + platform.Name()
}

// at is the value of a mapping's key. A missing key gives an empty node that is nobody's: the
// checks of krew's validator find it.
func at(node *yaml.Node, key string) *yaml.Node {
	if node != nil && node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	if node != nil && node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	}
	return &yaml.Node{}
}
