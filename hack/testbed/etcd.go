package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Pair is a key of etcd with its value.
type Pair struct{ Key, Value []byte }

// Below returns etcd's name for the keys that begin with a prefix of the API server's.
func Below(prefix string) map[string][]byte {
	end := []byte("/registry/" + prefix)
	end[len(end)-1]++
	return map[string][]byte{"key": []byte("/registry/" + prefix), "range_end": end}
}

// Stored returns what is stored below a prefix, in the order of the keys.
func (p *ControlPlane) Stored(ctx context.Context, prefix string) ([]Pair, error) {
	var answer struct{ Kvs []Pair }
	err := p.askEtcd(ctx, "range", Below(prefix), &answer)
	return answer.Kvs, err
}

// Store makes changes of one operation (requestPut, requestDeleteRange) in etcd, beside the API server, which hears of them as of its own.
// They take a tenth of the time that the API server needs.
func (p *ControlPlane) Store(ctx context.Context, operation string, all []map[string][]byte) error {
	for some := range slices.Chunk(all, 100) {
		var changes []any
		for _, fields := range some {
			changes = append(changes, map[string]any{operation: fields})
		}
		if err := p.askEtcd(ctx, "txn", map[string]any{"success": changes}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// askEtcd asks etcd by its gateway for JSON.
func (p *ControlPlane) askEtcd(ctx context.Context, what string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Etcd+"/v3/kv/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	out, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	text, err = io.ReadAll(out.Body)
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return err
	}
	if out.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s", text)
	}
	return json.Unmarshal(text, answer)
}
