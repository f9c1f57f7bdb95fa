// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/sim"
	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// awsTable is what AWS authorises, by service.
type awsTable map[string]struct {
	Actions map[string]struct {
		Resources map[string][]string `json:"resources"` // resource type -> condition keys
	} `json:"actions"`
	Keys      []string `json:"condition_keys"`
	Resources map[string]struct {
		ARN  string   `json:"arn"`
		Keys []string `json:"keys"`
	} `json:"resources"`
}

// loadTable returns nil where the table is not.
func loadTable(t *testing.T) awsTable {
	t.Helper()
	raw, err := os.ReadFile("../../../shared/schemas/aws-iam.json")
	if err != nil {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "shared") {
			t.Fatal(err)
		}
		return nil
	}
	var table awsTable
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// sameKey compares a key of ours with one of the table, whose last part may be a name.
func sameKey(ours, theirs string) bool {
	for _, open := range []string{"${", "<key>"} {
		if prefix, _, ok := strings.Cut(theirs, open); ok {
			return len(ours) > len(prefix) && strings.EqualFold(ours[:len(prefix)], prefix)
		}
	}
	return strings.EqualFold(ours, theirs)
}

// TestActionsAreWhatAWSAuthorises holds the simulator's own lists of actions,
// resource types and condition keys against AWS's.
func TestActionsAreWhatAWSAuthorises(t *testing.T) {
	t.Parallel()
	table := loadTable(t)
	if table == nil {
		t.Skip("the table of what AWS authorises is not here")
	}
	s := start(t, sim.Options{Dir: t.TempDir()})
	for action, types := range s.AWS().Authorizer().(*authz.Judge).Actions() {
		service, name, _ := strings.Cut(action, ":")
		known, ok := table[service].Actions[name]
		if !ok {
			t.Errorf("AWS has no action %s", action)
			continue
		}
		for _, kind := range types {
			if _, ok := known.Resources[kind]; !ok {
				t.Errorf("AWS does not judge %s on a %s", action, kind)
			}
		}
		if _, listOnly := known.Resources[""]; len(types) == 0 && (len(known.Resources) > 1 || len(known.Resources) == 1 && !listOnly) {
			t.Errorf("%s is judged on nothing, in AWS on %v", action, known.Resources)
		}
	}
	for service, list := range policy.Evaluated {
		for _, key := range strings.Fields(list) {
			if !slices.ContainsFunc(table[service].Keys, func(k string) bool { return sameKey(strings.TrimSuffix(key, "*")+"x", k) || sameKey(key, k) }) {
				t.Errorf("AWS has no condition key %s for %s", key, service)
			}
		}
	}
}

// listener looks at the rights that calls are judged on.
type listener struct {
	aws.Authorizer
	table awsTable
	types map[string][]string

	mu     sync.Mutex
	faults map[string]bool
}

// Authorize passes on and notes what AWS would not have asked.
func (l *listener) Authorize(c *wire.Call, aboveAll bool) *wire.Error {
	refusal := l.Authorizer.Authorize(c, aboveAll)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range c.Checks {
		for _, fault := range l.judge(k) {
			l.faults[fault] = true
		}
	}
	return refusal
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

func (l *listener) judge(k wire.Check) (faults []string) {
	types, listed := l.types[k.Action]
	if !listed {
		return []string{k.Action + " is not in the service's own list"}
	}
	service, name, _ := strings.Cut(k.Action, ":")
	action := l.table[service].Actions[name]
	keys := slices.Clone(action.Resources[""])
	found := len(types) == 0 && k.Resource == "*"
	for _, kind := range types {
		arn := variable.ReplaceAllString(l.table[service].Resources[kind].ARN, "*")
		if ok, err := path.Match(strings.ReplaceAll(arn, "/", "|"), strings.ReplaceAll(k.Resource, "/", "|")); err != nil || !ok {
			continue
		}
		found = true
		if keys = append(keys, action.Resources[kind]...); len(action.Resources[kind]) == 0 {
			keys = append(keys, l.table[service].Resources[kind].Keys...)
		}
	}
	if !found {
		faults = append(faults, k.Action+" is judged on "+k.Resource+", which is none of "+strings.Join(types, ", "))
	}
	for key := range k.Keys {
		if !slices.ContainsFunc(keys, func(theirs string) bool { return sameKey(key, theirs) }) {
			faults = append(faults, k.Action+" on "+k.Resource+" has the key "+key+", which AWS does not give")
		}
		if !policy.Known(k.Action, key) {
			faults = append(faults, k.Action+" has the key "+key+", which the evaluator refuses")
		}
	}
	return faults
}
