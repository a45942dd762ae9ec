package cases

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Limits of a case. They are far above what providers need and bound the size of an answer.
const (
	maxReplicas   = 100_000
	maxName       = 253
	maxAttributes = 1000
)

// Read yields the cases of an input with one JSON object per line. It skips empty lines. A line has at most size bytes.
// Read stops after the first error, which is a lease.Problems if the input is invalid.
func Read(r io.Reader, file string, size int64) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for number := 1; ; number++ {
			line, err := readLine(in, size)
			at := lease.Place{File: file, Line: number, Column: 1}
			switch {
			case errors.Is(err, errTooLong):
				yield(Case{}, problem(at, "the line is longer than %d bytes, the largest that is read", size))
				return
			case err != nil && !errors.Is(err, io.EOF):
				yield(Case{}, err)
				return
			}
			if text := bytes.TrimSpace(line); len(text) > 0 {
				c, problem := parse(line, at)
				if !yield(c, problem) || problem != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

var errTooLong = errors.New("the line is too long")

// readLine reads to the end of the line. At the end of the input it returns the rest and io.EOF.
func readLine(in *bufio.Reader, size int64) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if int64(len(line)+len(part)) > size {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func problem(at lease.Place, format string, args ...any) error {
	var ps lease.Problems
	ps.Add(at, format, args...)
	return ps
}

// parse parses a case strictly.
func parse(line []byte, at lease.Place) (Case, error) {
	var c Case
	strict, err := strictjson.UnmarshalStrict(line, &c)
	if err != nil {
		if ok, offset := strictjson.SyntaxErrorOffset(err); ok {
			at.Column = int(offset)
		}
		return Case{}, problem(at, "this is no case: %s", err.Error())
	}
	if len(strict) > 0 {
		return Case{}, problem(at, "%s", strict[0].Error())
	}
	if wrong := c.check(); wrong != "" {
		return Case{}, problem(at, "%s", wrong)
	}
	return c, nil
}

// check returns what is wrong with a case, or "".
func (c Case) check() string {
	switch {
	case c.Cluster.Nodes == nil:
		return "cluster.nodes is missing"
	case c.Requests == nil:
		return "requests is missing"
	}
	for i, n := range c.Cluster.Nodes {
		at := fmt.Sprintf("cluster.nodes[%d]", i)
		if n.Name == "" || len(n.Name) > maxName {
			return fmt.Sprintf("%s: the name has %d bytes; 1 to %d are possible", at, len(n.Name), maxName)
		}
		for _, a := range []struct {
			what string
			inventory.Amount
		}{{"cpu", n.CPU}, {"memory", n.Memory}, {"ephemeral_storage", n.EphemeralStorage}, {"gpu", n.GPU}} {
			if wrong := checkAmount(a.Amount); wrong != "" {
				return at + "." + a.what + wrong
			}
		}
	}
	if p := c.Cluster.NodePorts; p != nil {
		if wrong := checkAmount(*p); wrong != "" {
			return "cluster.node_ports" + wrong
		}
	}
	for i, s := range c.Cluster.Storage {
		if wrong := checkAmount(s.Amount); wrong != "" {
			return fmt.Sprintf("cluster.storage[%d]%s", i, wrong)
		}
	}
	replicas := uint64(0)
	for i, r := range c.Reservations {
		if r.State != inventory.Pending && r.State != inventory.Active {
			return fmt.Sprintf("reservations[%d].state: %q is no state; %s and %s are known",
				i, lease.Clip(string(r.State)), inventory.Pending, inventory.Active)
		}
		if wrong := checkGroup(r.Group, &replicas); wrong != "" {
			return fmt.Sprintf("reservations[%d].group%s", i, wrong)
		}
	}
	for i, g := range c.Requests {
		if wrong := checkGroup(g, &replicas); wrong != "" {
			return fmt.Sprintf("requests[%d]%s", i, wrong)
		}
	}
	return ""
}

func checkAmount(a inventory.Amount) string {
	switch {
	case a.Allocatable < inventory.Unlimited:
		return fmt.Sprintf(".allocatable: %d is negative; only -1, without limit, may be", a.Allocatable)
	case a.Allocated < 0:
		return fmt.Sprintf(".allocated: %d is negative", a.Allocated)
	}
	return ""
}

// checkGroup returns what is wrong with a group, or "". It adds the group's replicas to those of the case.
func checkGroup(g inventory.Group, replicas *uint64) string {
	for i, r := range g.Resources {
		if *replicas += uint64(r.Count); *replicas > maxReplicas {
			return fmt.Sprintf(".resources[%d].count: the case has more than %d replicas", i, maxReplicas)
		}
		if len(r.GPU.Attributes) > maxAttributes {
			return fmt.Sprintf(".resources[%d].gpu.attributes: there are %d; at most %d are read",
				i, len(r.GPU.Attributes), maxAttributes)
		}
		for k, e := range r.Endpoints {
			switch e.Kind {
			case inventory.SharedHTTP, inventory.RandomPort, inventory.LeasedIP:
			default:
				return fmt.Sprintf(".resources[%d].endpoints[%d].kind: %q is no kind; %s, %s and %s are known", i, k,
					lease.Clip(string(e.Kind)), inventory.SharedHTTP, inventory.RandomPort, inventory.LeasedIP)
			}
		}
	}
	return ""
}
