package config_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)
