// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// machineKinds holds the inventories of machines and of what stands in front of them.
type machineKinds struct {
	book *book

	roles                   *inventory[roleFacts]
	profiles                *inventory[iamtypes.InstanceProfile]
	roleNames, profileNames *named
	wantedRoles             map[string]*IAMRole // by name

	sealingKeys *inventory[keyFacts]
	wantsKey    bool // the graph has the task of a key

	keys          *inventory[ec2types.KeyPairInfo]
	volumes       *inventory[ec2types.Volume]
	templates     *inventory[templateFacts]
	scalingGroups *inventory[asgtypes.AutoScalingGroup]
	imageRefs     []string // of all groups

	balancers     *inventory[elbtypes.LoadBalancer]
	targets       *inventory[elbtypes.TargetGroup]
	listeners     *inventory[elbtypes.Listener]
	balancingOnce balancingReader

	associations   map[string]bool // zone associations that are wanted, by ledger entry
	recordNames    []string        // of all records, filled while lowering
	recordsMu      sync.Mutex
	records        *zoneRecords
	claimedRecords map[string]bool // by ledger entry
}

func newMachineKinds(s *survey) *machineKinds {
	return &machineKinds{
		book:  &book{ledger: s.ledger},
		roles: newInventory("role", s.listRoles), profiles: newInventory("instance profile", s.listProfiles),
		roleNames: newNamed(), profileNames: newNamed(), wantedRoles: map[string]*IAMRole{},
		sealingKeys:   newInventory("KMS key", s.listSealingKeys),
		keys:          newInventory("key pair", s.listKeys),
		volumes:       newInventory("volume", s.listVolumes).preferring(func(v ec2types.Volume) bool { return len(v.Attachments) > 0 }),
		templates:     newInventory("launch template", s.listTemplates),
		scalingGroups: newInventory("auto scaling group", s.listScalingGroups),
		balancers:     newInventory("load balancer", s.listBalancers),
		targets:       newInventory("target group", s.listTargets),
		listeners:     newInventory("listener", s.listListeners),
		associations:  map[string]bool{}, claimedRecords: map[string]bool{},
	}
}

// machineRemovables lists how these kinds are removed: names first, then machines, then
// what they used.
func (s *survey) machineRemovables() []removable {
	return []removable{
		{kind: "record", list: s.recordLeftovers, remove: s.removeRecord},
		{kind: "zone-association", list: s.associationLeftovers, remove: s.removeAssociation, after: []string{"record"}},
		{kind: "autoscalinggroup", list: s.scalingGroups.leftovers, remove: s.removeScalingGroup},
		{kind: "launchtemplate", list: s.templates.leftovers, remove: s.removeTemplate, after: []string{"autoscalinggroup"}},
		{kind: "listener", list: s.listeners.leftovers, remove: s.removeListener},
		{kind: "loadbalancer", list: s.balancers.leftovers, remove: s.removeBalancer, after: []string{"listener", "record"}},
		{kind: "targetgroup", list: s.targets.leftovers, remove: s.removeTarget, after: []string{"listener", "loadbalancer", "autoscalinggroup"}},
		{kind: "instance-profile", list: orphans(s, s.profiles, s.profileNames, bookProfile), remove: s.removeProfile, after: []string{"autoscalinggroup", "launchtemplate"}},
		{kind: "iam-role", list: orphans(s, s.roles, s.roleNames, bookRole), remove: s.removeRole, after: []string{"instance-profile"}},
		{kind: "keypair", list: s.keys.leftovers, remove: s.removeKey, after: []string{"launchtemplate"}},
		{kind: "kms-key", list: s.keyLeftovers, remove: s.removeSealingKey, after: []string{"autoscalinggroup", "iam-role"}, data: true},
		{kind: "volume", list: s.volumes.leftovers, remove: s.removeVolume, after: []string{"autoscalinggroup"}, data: true},
	}
}

// builtMachines holds the tasks that pools refer to.
type builtMachines struct {
	zone       *Zone
	profileOf  map[api.Role]*InstanceProfile
	keyOf      map[string]*KeyPair
	balancerOf map[string]*LoadBalancer  // by endpoint
	targetsFor map[string][]*TargetGroup // by endpoint
}

func newBuiltMachines() builtMachines {
	return builtMachines{
		profileOf: map[api.Role]*InstanceProfile{}, keyOf: map[string]*KeyPair{},
		balancerOf: map[string]*LoadBalancer{}, targetsFor: map[string][]*TargetGroup{},
	}
}

// lowerZone finds the hosted zone.
func lowerZone(l *lowering) error {
	if l.blueprint.Zone == nil {
		return nil
	}
	l.zone = newZone(l.survey, l.vpc, *l.blueprint.Zone)
	return l.add(l.zone)
}

// lowerIdentities adds a role and an instance profile for each identity that some group
// uses: a group with a profile of its own needs none of ours.
func lowerIdentities(l *lowering) error {
	for _, id := range l.blueprint.Identities {
		if !slices.ContainsFunc(l.blueprint.Pools, func(p model.Pool) bool { return p.Role == id.Role && ownProfile(p) == "" }) {
			continue
		}
		role := newIAMRole(l, id, l.zone)
		profile := newInstanceProfile(l.survey, role)
		l.profileOf[id.Role] = profile
		if err := l.addAll(role, profile); err != nil {
			return err
		}
	}
	return nil
}

// ownProfile returns the name of the existing profile that a group uses, or "".
func ownProfile(p model.Pool) string {
	if p.Group == nil || p.Group.Spec.IAM == nil {
		return ""
	}
	name := p.Group.Spec.IAM.Profile
	return name[strings.LastIndex(name, "/")+1:] // an ARN ends in the name
}

func (l *lowering) addAll(ts ...tasks.Task) error {
	for _, t := range ts {
		if err := l.add(t); err != nil {
			return err
		}
	}
	return nil
}

// lowerKeys adds the key pairs.
func lowerKeys(l *lowering) error {
	for _, m := range l.blueprint.SSHKeys {
		k, err := newKeyPair(l.survey, m)
		if err != nil {
			return err
		}
		l.keyOf[m.Name] = k
		if err := l.add(k); err != nil {
			return err
		}
	}
	return nil
}

// lowerVolumes adds the disks of etcd members.
func lowerVolumes(l *lowering) error {
	for _, m := range l.blueprint.Volumes {
		if err := l.add(newEBSVolume(l.survey, m)); err != nil {
			return err
		}
	}
	return nil
}

// lowerEndpoints adds the load balancers with their target groups and listeners.
func lowerEndpoints(l *lowering) error {
	for _, e := range l.blueprint.Endpoints {
		b, err := newLoadBalancer(l, e)
		if err != nil {
			return err
		}
		l.balancerOf[e.Name] = b
		if err := l.add(b); err != nil {
			return err
		}
		for _, m := range e.Listeners {
			t := newTargetGroup(l.survey, l.vpc, e, m)
			l.targetsFor[e.Name] = append(l.targetsFor[e.Name], t)
			if err := l.addAll(t, newListener(l.survey, b, t, m)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerRecords adds the DNS names.
func lowerRecords(l *lowering) error {
	for _, m := range l.blueprint.Records {
		b := l.balancerOf[m.Endpoint]
		if m.Endpoint != "" && b == nil {
			return fmt.Errorf("record %s: there is no endpoint %q", m.Name, m.Endpoint)
		}
		if err := l.add(newRecord(l.survey, l.zone, b, m)); err != nil {
			return err
		}
	}
	return nil
}
