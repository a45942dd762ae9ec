package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// shards reads the routers that share the cluster's routes.
func shards(c document.Cursor) []Shard {
	var out []Shard
	for item := range c.List() {
		m := item.Mapping(shardKeys)
		var s Shard
		text(m.Require("name"), &s.Name, subdomain)
		notEmpty(m.Get("name"), "name")
		s.Routes, s.Namespaces = selector(m.Get("selector")), selector(m.Get("namespaceSelector"))
		if s.Name != "" && slices.ContainsFunc(out, func(other Shard) bool { return other.Name == s.Name }) {
			m.Get("name").Errorf("a shard named %q was given before", s.Name)
		}
		out = append(out, s)
	}
	return out
}

// selector reads a label selector in kubectl's format. An empty text selects everything.
func selector(c document.Cursor) labels.Selector {
	s, err := labels.Parse(c.Text())
	if err != nil {
		c.Errorf("not a label selector: %v", err)
		return labels.Nothing()
	}
	return s
}
