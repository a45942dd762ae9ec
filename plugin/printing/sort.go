package printing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fvbommel/sortorder"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// parsePath parses a JSONPath expression for a row, with or without braces and a leading dot. flag begins its errors.
func parsePath(flag, path string) (*jsonpath.JSONPath, error) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	p := jsonpath.New(flag).AllowMissingKeys(true)
	if err := p.Parse("{." + strings.TrimPrefix(path, ".") + "}"); err != nil {
		return nil, usage.Errorf("%s: %w", flag, err)
	}
	return p, nil
}

// sortBook sorts the rows of each subject by the first value of a path, as "kubectl get --sort-by" does: rows without one come first, and
// it is an error if no row has one.
func sortBook(b *view.Book, path *jsonpath.JSONPath, typed string) error {
	sorting := sorting{path: path}
	b.Hosts = sorted(&sorting, b.Hosts)
	b.IPs = sorted(&sorting, b.IPs)
	b.Leases = sorted(&sorting, b.Leases)
	b.Pools = sorted(&sorting, b.Pools)
	b.Routes = sorted(&sorting, b.Routes)
	b.DNS = sorted(&sorting, b.DNS)
	b.Resources = sorted(&sorting, b.Resources)
	b.Orders = sorted(&sorting, b.Orders)
	b.Problems = sorted(&sorting, b.Problems)
	if sorting.err == nil && sorting.rows > 0 && !sorting.found {
		return usage.Errorf("--sort-by: no row has a field %q; -o json shows the fields", typed)
	}
	return sorting.err
}

// sorting is what is known while the rows of several subjects are sorted.
type sorting struct {
	path  *jsonpath.JSONPath
	rows  int
	found bool
	err   error
}

// sorted returns rows in the order of their values.
func sorted[R any](s *sorting, rows []R) []R {
	type valued struct {
		row   R
		value any
	}
	all := make([]valued, len(rows))
	for i, row := range rows {
		all[i] = valued{row, s.value(row)}
	}
	slices.SortStableFunc(all, func(a, b valued) int { return compareValues(a.value, b.value) })
	out := slices.Clone(rows) // nil stays nil
	for i, v := range all {
		out[i] = v.row
	}
	return out
}

// value returns the first value of the path in a row, nil if there is none.
func (s *sorting) value(row any) any {
	s.rows++
	text, err := json.Marshal(row)
	var fields map[string]any
	if err == nil {
		err = utiljson.Unmarshal(text, &fields)
	}
	if err != nil {
		s.err = err
		return nil
	}
	results, err := s.path.FindResults(fields)
	if err != nil {
		s.err = usage.Errorf("--sort-by: %w", err)
		return nil
	}
	for _, values := range results {
		for _, v := range values {
			if v.IsValid() && v.CanInterface() && v.Interface() != nil {
				s.found = true
				return v.Interface()
			}
		}
	}
	return nil
}

// compareValues compares numbers and addresses by their value, and texts as people do: node9 before node10. Values of different kinds are
// compared as texts, and nil is less than all.
func compareValues(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	if b == nil {
		return 1
	}
	left, right := fmt.Sprint(a), fmt.Sprint(b)
	if one, err := netip.ParseAddr(left); err == nil {
		if other, err := netip.ParseAddr(right); err == nil {
			return one.Compare(other)
		}
	}
	switch {
	case left == right:
		return 0
	case sortorder.NaturalLess(left, right):
		return -1
	}
	return 1
}
