// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
)

// IAM's lists take no filter and show no tags, so roles and instance profiles are read by
// name: those that are wanted, and those that the ledger knows.

// The ledger's kinds.
const (
	bookRole    = "aws/iam-role"
	bookProfile = "aws/instance-profile"
)

// tagPolicies lists the inline policies that we put into a role; tagAttached the ones
// that we attached.
const (
	tagPolicies = tagOurs + "policies"
	tagAttached = tagOurs + "attached"
)

// roleFacts is what was read of a role.
type roleFacts struct {
	Role     iamtypes.Role
	Inline   map[string]string // name -> document, of those that we put or want
	Attached []string          // ARNs; nil where neither the role nor the spec has any of ours
}

// named are the IAM objects of one kind that a graph wants, and those it met that belong
// to someone else.
type named struct {
	wanted map[string]bool // filled while lowering

	mu      sync.Mutex
	foreign map[string]string // name -> whose it is
}

func newNamed() *named { return &named{wanted: map[string]bool{}, foreign: map[string]string{}} }

// clash reports that the name is taken by something that is not this cluster's.
func (n *named) clash(what, name, uid string) error {
	n.mu.Lock()
	owner, taken := n.foreign[name]
	n.mu.Unlock()
	switch {
	case !taken:
		return nil
	case owner == "":
		return fmt.Errorf("%s %s exists and is not Slipway's (it has no tag %s): remove it, or use another cluster name", what, name, tagUID)
	default:
		return fmt.Errorf("%s %s belongs to the cluster with the UID %s, not to this one (%s): a cluster of the same name exists in this account",
			what, name, owner, uid)
	}
}

// roleName and profileName are the names of a role's objects in IAM.
func (c *Cloud) roleName(r api.Role) string {
	return cloudup.Shorten(roleKey(r)+"s."+c.cluster, limitRole)
}

func (c *Cloud) profileName(r api.Role) string {
	return cloudup.Shorten(roleKey(r)+"s."+c.cluster, limitProfile)
}

// iamNames returns which objects of a kind to read. In a deletion the names that a
// cluster would use are among them, in case the ledger was lost.
func (s *survey) iamNames(ctx context.Context, kind string, n *named, guess func(api.Role) string) ([]string, error) {
	names, err := s.book.names(ctx, kind)
	if err != nil {
		return nil, err
	}
	names = append(slices.Clone(names), sortedKeys(n.wanted)...)
	if len(s.graph.Wanted()) == 0 {
		for _, r := range []api.Role{api.RoleControlPlane, api.RoleNode, api.RoleBastion} {
			names = append(names, guess(r))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// readNamed reads objects by their names, several at a time. read returns nil tags for
// an object that is not there.
func readNamed[T any](ctx context.Context, s *survey, n *named, names []string,
	read func(ctx context.Context, name string) (v T, tags map[string]string, err error)) ([]owned[T], error) {
	found := make([]*owned[T], len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, name := range names {
		g.Go(func() error {
			v, tags, err := read(ctx, name)
			if err == nil && tags != nil {
				found[i] = &owned[T]{ID: name, Key: tags[tagKey], Tags: tags, Value: v}
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []owned[T]
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.foreign)
	for i, o := range found {
		switch {
		case o == nil:
		case o.Tags[tagUID] != s.uid:
			n.foreign[names[i]] = o.Tags[tagUID]
		default:
			out = append(out, *o)
		}
	}
	return out, nil
}

// listRoles reads the cluster's roles.
func (s *survey) listRoles(ctx context.Context) ([]owned[roleFacts], error) {
	names, err := s.iamNames(ctx, bookRole, s.roleNames, s.roleName)
	if err != nil {
		return nil, err
	}
	return readNamed(ctx, s, s.roleNames, names, s.readRole)
}

func (s *survey) readRole(ctx context.Context, name string) (roleFacts, map[string]string, error) {
	out, err := s.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if gone(err) {
		return roleFacts{}, nil, nil
	}
	if err != nil {
		return roleFacts{}, nil, fmt.Errorf("read role %s: %w", name, err)
	}
	facts := roleFacts{Role: *out.Role, Inline: map[string]string{}}
	tags := iamTagMap(out.Role.Tags)
	if tags[tagUID] != s.uid {
		return facts, tags, nil
	}
	want := s.wantedRoles[name]
	policies := strings.Fields(tags[tagPolicies])
	if want != nil {
		policies = append(policies, want.policyNames()...)
	}
	slices.Sort(policies)
	for _, p := range slices.Compact(policies) {
		got, err := s.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &p})
		if err != nil && !gone(err) {
			return facts, nil, fmt.Errorf("read policy %s of role %s: %w", p, name, err)
		}
		if err == nil {
			facts.Inline[p] = aws.ToString(got.PolicyDocument)
		}
	}
	if tags[tagAttached] != "" || want != nil && len(want.identity.Attached) > 0 {
		facts.Attached, err = s.attached(ctx, name)
	}
	return facts, tags, err
}

// attached returns the ARNs of the policies attached to a role.
func (s *survey) attached(ctx context.Context, role string) ([]string, error) {
	out := []string{}
	err := pages(ctx, iam.NewListAttachedRolePoliciesPaginator(s.iam, &iam.ListAttachedRolePoliciesInput{RoleName: &role}),
		func(page *iam.ListAttachedRolePoliciesOutput) {
			for _, p := range page.AttachedPolicies {
				out = append(out, aws.ToString(p.PolicyArn))
			}
		})
	if err != nil {
		return nil, fmt.Errorf("list the policies attached to role %s: %w", role, err)
	}
	return out, nil
}

// listProfiles reads the cluster's instance profiles.
func (s *survey) listProfiles(ctx context.Context) ([]owned[iamtypes.InstanceProfile], error) {
	names, err := s.iamNames(ctx, bookProfile, s.profileNames, s.profileName)
	if err != nil {
		return nil, err
	}
	return readNamed(ctx, s, s.profileNames, names, func(ctx context.Context, name string) (iamtypes.InstanceProfile, map[string]string, error) {
		out, err := s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
		if gone(err) {
			return iamtypes.InstanceProfile{}, nil, nil
		}
		if err != nil {
			return iamtypes.InstanceProfile{}, nil, fmt.Errorf("read instance profile %s: %w", name, err)
		}
		return *out.InstanceProfile, iamTagMap(out.InstanceProfile.Tags), nil
	})
}

// orphans returns the leftovers of a kind, and the ledger's entries that stand for
// nothing any more.
func orphans[T any](s *survey, i *inventory[T], n *named, kind string) func(context.Context) ([]leftover, error) {
	return func(ctx context.Context) ([]leftover, error) {
		out, err := i.leftovers(ctx)
		if err != nil {
			return nil, err
		}
		there, err := i.all(ctx)
		if err != nil {
			return nil, err
		}
		names, err := s.book.names(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !n.wanted[name] && !slices.ContainsFunc(there, func(o owned[T]) bool { return o.ID == name }) {
				out = append(out, leftover{Key: name, ID: name, Reason: "it is gone already, only the ledger's entry is left"})
			}
		}
		return out, nil
	}
}

// statements returns the statements of a document by name, each as compact JSON, so that
// a plan shows which of them differ. IAM percent-encodes the documents that it returns.
func statements(document string) map[string]string {
	if plain, err := url.PathUnescape(document); err == nil && strings.HasPrefix(document, "%7B") {
		document = plain
	}
	out := map[string]string{}
	var doc struct{ Statement json.RawMessage }
	if json.Unmarshal([]byte(document), &doc) != nil {
		return map[string]string{"document": document}
	}
	var list []map[string]any
	if json.Unmarshal(doc.Statement, &list) != nil {
		list = make([]map[string]any, 1)
		if json.Unmarshal(doc.Statement, &list[0]) != nil {
			return map[string]string{"document": document}
		}
	}
	for i, s := range list {
		name, _ := s["Sid"].(string)
		if _, twice := out[name]; twice || name == "" {
			name = fmt.Sprintf("%d", i+1)
		}
		text, _ := json.Marshal(s)
		out[name] = string(text)
	}
	return out
}

func iamTagMap(tags []iamtypes.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

func iamTags(m map[string]string) []iamtypes.Tag {
	var out []iamtypes.Tag
	for _, k := range sortedKeys(m) {
		out = append(out, iamtypes.Tag{Key: aws.String(k), Value: aws.String(m[k])})
	}
	return out
}
