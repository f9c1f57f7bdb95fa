// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/sim"
	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
)

// TestShapes drives every operation with boto3 and walks botocore's output
// shapes over the raw answers (pkg/sim/aws/judge says how). The rights that the
// calls need are held against what AWS authorises on the way.
func TestShapes(t *testing.T) {
	t.Parallel()
	venv := os.Getenv("SLIPWAY_VENV")
	if venv == "" {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "moto") {
			t.Fatal("SLIPWAY_VENV must name a Python environment with boto3")
		}
		t.Skip("SLIPWAY_VENV is not set")
	}
	s := start(t, sim.Options{Dir: t.TempDir()})
	ear := &listener{Authorizer: s.AWS().Authorizer(), table: loadTable(t), faults: map[string]bool{}}
	if ear.table != nil {
		ear.types = ear.Authorizer.(*authz.Judge).Actions()
		s.AWS().SetAuthorizer(ear)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), filepath.Join("aws", "judge", "run.py"), s.URL())
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+aws.OperatorAccessKey, "AWS_SECRET_ACCESS_KEY="+aws.OperatorSecret, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	for _, fault := range slices.Sorted(maps.Keys(ear.faults)) {
		t.Error(fault)
	}
}

func start(t *testing.T, opts sim.Options) *sim.Server {
	t.Helper()
	s, err := sim.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
