//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// reservationsBeside is how many reservations there are when one more is made.
const reservationsBeside = 5000

// orderedSDL asks for little, so that it fits beside all others.
const orderedSDL = `version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 10m}, memory: {size: 16Mi}, storage: {size: 16Mi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`

// orders reserves for one order, first alone and then beside thousands of reservations.
func (b *bench) orders(ctx context.Context) (err error) {
	c, err := b.startCluster(ctx)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err != nil {
		return err
	}
	if err := c.makeNodes(ctx); err != nil {
		return err
	}
	file := filepath.Join(b.dir, "ordered.yaml")
	if err := os.WriteFile(file, []byte(orderedSDL), 0o600); err != nil {
		return err
	}
	order := definition(reservationsBeside).Lease.Order().String()
	reserve := program{name: "reserve", args: []string{b.tools.plugin, "reserve", "--order", order, "-f", file}, env: c.env()}
	unreserve := program{name: "unreserve", args: []string{b.tools.plugin, "unreserve", "--order", order}, env: c.env()}
	alone, firsts, err := b.reserving(ctx, c, reserve, unreserve)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "making %d reservations\n", reservationsBeside)
	if err := c.makeReservations(ctx); err != nil {
		return err
	}
	beside, all, err := b.reserving(ctx, c, reserve, unreserve)
	if err != nil {
		return err
	}
	b.report.section(fmt.Sprintf("One reservation beside %d", reservationsBeside),
		fmt.Sprintf("%d nodes. A reservation reads nodes, pods, volumes and Services, lists all reservations, announces, lists them again and binds.", nodesOfResources),
		"command", "wall", "processor", "peak", "requests")
	b.report.usage("reserve --order, no others", alone, fmt.Sprint(firsts))
	b.report.usage(fmt.Sprintf("reserve --order beside %d", reservationsBeside), beside, fmt.Sprint(all))
	b.report.atMost("reserve --order: requests more than without others", float64(all-firsts), 0, "")
	return nil
}

// reserving measures a reservation, and counts its requests.
func (b *bench) reserving(ctx context.Context, c *system, reserve, unreserve program) (usage, int, error) {
	requests, err := b.record(ctx, c, reserve)
	if err != nil {
		return usage{}, 0, err
	}
	reserve.env = c.env()
	var runs []usage
	for range b.runs {
		if _, err := b.measure(ctx, unreserve); err != nil {
			return usage{}, 0, err
		}
		u, err := b.measure(ctx, reserve)
		if err != nil {
			return usage{}, 0, err
		}
		runs = append(runs, u)
	}
	_, err = b.measure(ctx, unreserve)
	return median(runs), len(requests), err
}

// makeReservations makes reservations of many orders, which the nodes have room for.
func (c *system) makeReservations(ctx context.Context) error {
	namespace := config.Default().LedgerNamespace
	return each(ctx, reservationsBeside, func(ctx context.Context, i int) error {
		node := fmt.Sprintf("node-%03d", i%nodesOfResources)
		claim := reserved.Claim{Order: definition(i).Lease.Order(), Bound: &reserved.Part{
			Asked: "bench", By: "ann@laptop", Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{node: {CPU: 1000, Memory: 1 << 30, EphemeralStorage: 1 << 30}}},
		}}
		body, err := json.Marshal(claim.Configuration(namespace))
		if err != nil {
			return err
		}
		_, err = c.client.Resource(claims).Namespace(namespace).Patch(ctx, reserved.Name(claim.Order), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: claim.Order.FieldManager()})
		return err
	})
}
