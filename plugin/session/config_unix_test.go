//go:build unix

package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func pipe(t *testing.T) *Session {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(t.Context(), genericiooptions.NewTestIOStreamsDiscard())
	c.ConfigFile = name
	return c
}

// install writes the text of --config into the cluster. A pipe, such as <(sops -d FILE) of a shell, can be read once.
func TestConfigurationFromAPipe(t *testing.T) {
	const text = "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {target: route}\n"
	c := pipe(t)
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(c.ConfigFile, []byte(text), 0o600) }()
	for range 2 {
		cfg, err := c.Configuration(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Target != "route" || c.ConfigText != text {
			t.Errorf("the target is %q, the text %q", cfg.Target, c.ConfigText)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestConfigurationFromAPipeIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pipe(t).Configuration(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
