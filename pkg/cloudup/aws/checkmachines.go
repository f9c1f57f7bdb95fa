// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// checkMachines reports what AWS would refuse of the groups: machine types that do not
// exist or are not offered in a zone of the group, images that are not there, and types
// whose architecture is not the image's. Three lists answer for all groups.
func (c *Cloud) checkMachines(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	var machines, refs []string
	for _, g := range m.Groups {
		machines = append(machines, machinesOf(g)...)
		if g.Spec.Image != "" {
			refs = append(refs, g.Spec.Image)
		}
	}
	types, err := c.catalogue.machineTypes(ctx, machines)
	if err != nil {
		return nil, err
	}
	offered, err := c.catalogue.offerings(ctx, machines)
	if err != nil {
		return nil, err
	}
	images, err := c.catalogue.imageRefs(ctx, refs)
	if err != nil {
		return nil, err
	}
	zones := zonesByName(m)
	var faults api.Faults
	for _, g := range m.Groups {
		k := groupCheck{path: "instancegroup/" + g.Metadata.Name + " ", group: g, region: c.region}
		k.image(images)
		for _, name := range machinesOf(g) {
			k.machine(name, types[name], offered[name], groupZones(g, zones), images[g.Spec.Image])
		}
		k.metadata()
		faults = append(faults, k.faults...)
	}
	return faults, nil
}

// zonesByName returns the zone of each subnet.
func zonesByName(m *api.Manifest) map[string]string {
	out := map[string]string{}
	for _, s := range m.Cluster.Spec.Networking.Subnets {
		out[s.Name] = s.Zone
	}
	return out
}

// groupZones returns the zones of a group's subnets, each once.
func groupZones(g *api.InstanceGroup, zones map[string]string) []string {
	var out []string
	for _, s := range g.Spec.Subnets {
		if z := zones[s]; z != "" && !slices.Contains(out, z) {
			out = append(out, z)
		}
	}
	return out
}

// groupCheck collects the faults of one group.
type groupCheck struct {
	path   string
	group  *api.InstanceGroup
	region string
	faults api.Faults
}

func (k *groupCheck) fault(field, value, format string, args ...any) {
	k.faults = append(k.faults, api.Fault{Path: k.path + field, Value: value, Message: fmt.Sprintf(format, args...)})
}

func (k *groupCheck) image(images map[string]*ec2types.Image) {
	if ref := k.group.Spec.Image; ref != "" && images[ref] == nil {
		k.fault("spec.image", ref, "there is no such image in %s: give <owner>/<name or pattern>, or an ami- id of that region", k.region)
	}
}

// machine checks one machine type, the group's own or one of its mixed policy.
func (k *groupCheck) machine(name string, t *ec2types.InstanceTypeInfo, offered map[string]bool, zones []string, image *ec2types.Image) {
	field := "spec.machineType"
	if name != k.group.Spec.MachineType {
		field = "spec.mixedInstancesPolicy.instances"
	}
	if t == nil {
		k.fault(field, name, "there is no such machine type in %s", k.region)
		return
	}
	var lacking []string
	for _, z := range zones {
		if !offered[z] {
			lacking = append(lacking, z)
		}
	}
	if len(lacking) > 0 {
		k.fault(field, name, "is not offered in %s, where the group has a subnet; it is offered in %s",
			strings.Join(lacking, ", "), strings.Join(sortedKeys(offered), ", "))
	}
	if image == nil {
		return
	}
	if arch := string(image.Architecture); !slices.Contains(architectures(t), arch) {
		k.fault(field, name, "has the architecture %s, the group's image is for %s: choose another image or machine type",
			strings.Join(architectures(t), ", "), arch)
	}
}

// metadata reports the one option that our own tags make impossible: the metadata
// service refuses tags whose keys have a slash, and no machine would start.
func (k *groupCheck) metadata() {
	if im := k.group.Spec.InstanceMetadata; im != nil && im.InstanceMetadataTags {
		k.fault("spec.instanceMetadata.instanceMetadataTags", "true",
			"cannot be: machines carry the tag kubernetes.io/cluster/<name>, and AWS starts none that shows a tag with a slash in its metadata")
	}
}

// The default images: the newest Ubuntu LTS, of Canonical, by architecture.
var defaultImages = map[string]string{
	"x86_64": "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*",
	"arm64":  "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-*",
}

// The default machine types by architecture and role, the first one first: the next ones
// stand in where a zone of the group does not offer it.
var defaultMachines = map[string]map[api.Role][]string{
	"x86_64": {
		api.RoleControlPlane: {"t3.medium", "t3a.medium", "m7i.large", "m6i.large", "m5.large"},
		api.RoleNode:         {"t3.medium", "t3a.medium", "m7i.large", "m6i.large", "m5.large"},
		api.RoleBastion:      {"t3.micro", "t3a.micro", "t2.micro", "t3.small"},
	},
	"arm64": {
		api.RoleControlPlane: {"t4g.medium", "m7g.large", "m6g.large"},
		api.RoleNode:         {"t4g.medium", "m7g.large", "m6g.large"},
		api.RoleBastion:      {"t4g.micro", "t4g.small", "m6g.medium"},
	},
}

// resolveMachines gives groups without one a machine type that all their zones offer,
// and then an image for its architecture, by its exact name: a newer image is a change
// that somebody makes, not one that happens.
func (c *Cloud) resolveMachines(ctx context.Context, m *api.Manifest) error {
	if err := c.resolveTypes(ctx, m); err != nil {
		return err
	}
	var machines []string
	for _, g := range m.Groups {
		if g.Spec.Image == "" {
			machines = append(machines, machinesOf(g)...)
		}
	}
	if len(machines) == 0 {
		return nil
	}
	types, err := c.catalogue.machineTypes(ctx, machines)
	if err != nil {
		return err
	}
	images, err := c.catalogue.imageRefs(ctx, []string{defaultImages["x86_64"], defaultImages["arm64"]})
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		if g.Spec.Image != "" {
			continue
		}
		for _, name := range machinesOf(g) {
			archs := architectures(types[name])
			if len(archs) == 0 {
				continue // Check says that there is no such type
			}
			image := images[defaultImages[archs[0]]]
			if image == nil {
				return fmt.Errorf("group %s: there is no image %s in %s: give the group an image", g.Metadata.Name, defaultImages[archs[0]], c.region)
			}
			g.Spec.Image = aws.ToString(image.OwnerId) + "/" + aws.ToString(image.Name)
			break
		}
	}
	return nil
}

func (c *Cloud) resolveTypes(ctx context.Context, m *api.Manifest) error {
	var refs, candidates []string
	for _, g := range m.Groups {
		if len(machinesOf(g)) > 0 {
			continue
		}
		if g.Spec.Image != "" {
			refs = append(refs, g.Spec.Image)
		}
		for _, arch := range []string{"x86_64", "arm64"} {
			candidates = append(candidates, defaultMachines[arch][roleOf(g)]...)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	images, err := c.catalogue.imageRefs(ctx, refs)
	if err != nil {
		return err
	}
	offered, err := c.catalogue.offerings(ctx, candidates)
	if err != nil {
		return err
	}
	zones := zonesByName(m)
	for _, g := range m.Groups {
		if len(machinesOf(g)) > 0 {
			continue
		}
		arch := "x86_64"
		if i := images[g.Spec.Image]; i != nil {
			arch = string(i.Architecture)
		}
		in := groupZones(g, zones)
		for _, name := range defaultMachines[arch][roleOf(g)] {
			if !slices.ContainsFunc(in, func(z string) bool { return !offered[name][z] }) {
				g.Spec.MachineType = name
				break
			}
		}
		if g.Spec.MachineType == "" {
			return fmt.Errorf("group %s: none of the default machine types is offered in all of %s: give the group a machine type",
				g.Metadata.Name, strings.Join(in, ", "))
		}
	}
	return nil
}

func roleOf(g *api.InstanceGroup) api.Role {
	if g.Spec.Role == "" {
		return api.RoleNode
	}
	return g.Spec.Role
}
