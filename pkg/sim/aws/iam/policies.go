// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// managedPolicy is a managed policy: the customer's are rows, AWS's are built in.
type managedPolicy struct {
	Name, ID, Path, ARN string
	Description         string
	Created, Updated    time.Time
	Versions            []policyVersion // oldest first
	Default             string
	NextVersion         int
	Tags                []Tag
}

type policyVersion struct {
	ID, Text string
	Created  time.Time
}

func noPolicy(arn string) *wire.Error {
	return noSuchEntity("Policy %s does not exist or is not attachable.", arn)
}

// customer finds a policy that can be changed.
func (s *Service) customer(arn string) (*managedPolicy, *wire.Error) {
	if !strings.HasPrefix(arn, "arn:") || len(arn) < 20 {
		return nil, invalid("Invalid ARN:  Could not be parsed!")
	}
	if p := s.policies.Get("", arn); p != nil {
		return p, nil
	}
	if awsManaged[arn] != nil {
		return nil, wire.Errorf("AccessDenied", "Policy %s is managed by AWS and cannot be changed", arn)
	}
	return nil, noPolicy(arn)
}

// managed finds any managed policy.
func (s *Service) managed(arn string) (*managedPolicy, *wire.Error) {
	if p := awsManaged[arn]; p != nil {
		return p, nil
	}
	return s.customer(arn)
}

type policyView struct {
	PolicyName, PolicyId, Arn, Path string
	DefaultVersionId                string
	AttachmentCount                 int
	PermissionsBoundaryUsageCount   int
	IsAttachable                    bool
	Description                     string
	CreateDate, UpdateDate          time.Time
	Tags                            []Tag `wire:"Tags,omitempty"`
}

func (s *Service) policyView(p *managedPolicy, whole bool) policyView {
	v := policyView{PolicyName: p.Name, PolicyId: p.ID, Arn: p.ARN, Path: p.Path, DefaultVersionId: p.Default,
		IsAttachable: true, CreateDate: p.Created, UpdateDate: p.Updated}
	v.AttachmentCount, v.PermissionsBoundaryUsageCount = s.uses(p.ARN)
	if whole {
		v.Description, v.Tags = p.Description, p.Tags
	}
	return v
}

func (s *Service) uses(arn string) (attached, boundary int) {
	count := func(h *holder) {
		if slices.Contains(h.Attached, arn) {
			attached++
		}
		if h.Boundary == arn {
			boundary++
		}
	}
	for _, r := range s.roles.All("") {
		count(&r.holder)
	}
	for _, u := range s.users.All("") {
		count(&u.holder)
	}
	return attached, boundary
}

func (s *Service) policyOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreatePolicy": wire.Op(s.createPolicy), "GetPolicy": wire.Op(s.getPolicy), "DeletePolicy": wire.Op(s.deletePolicy),
		"ListPolicies": wire.Op(s.listPolicies), "CreatePolicyVersion": wire.Op(s.createVersion),
		"GetPolicyVersion": wire.Op(s.getVersion), "ListPolicyVersions": wire.Op(s.listVersions),
		"DeletePolicyVersion": wire.Op(s.deleteVersion), "SetDefaultPolicyVersion": wire.Op(s.setDefaultVersion),
	}
}

type policyOut struct{ Policy policyView }

type ofARN struct {
	PolicyArn string `wire:"PolicyArn,required"`
}

func checkManaged(text string) *wire.Error {
	if err := checkDocument(text, identityPolicy); err != nil {
		return err
	}
	if weight(text) > 6144 {
		return limitExceeded("Cannot exceed quota for PolicySize: 6144")
	}
	return nil
}

func (s *Service) createPolicy(c *wire.Call, in *struct {
	ofPolicy
	Path, Description string
	PolicyDocument    string `wire:"PolicyDocument,required"`
	Tags              []Tag
}) (*policyOut, error) {
	if err := checkName("policyName", in.PolicyName, 128); err != nil {
		return nil, err
	}
	if err := checkPath(&in.Path); err != nil {
		return nil, err
	}
	arn := s.arn("policy", in.Path, in.PolicyName)
	for _, p := range s.policies.All("") {
		if key(p.Name) == key(in.PolicyName) {
			return nil, refuse(http.StatusConflict, "EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", in.PolicyName)
		}
	}
	if err := checkManaged(in.PolicyDocument); err != nil {
		return nil, err
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	now := stamp(c.Now)
	p := &managedPolicy{Name: in.PolicyName, ID: s.newID("ANPA"), Path: in.Path, ARN: arn, Description: in.Description, Tags: tags,
		Created: now, Updated: now, Default: "v1", NextVersion: 2, Versions: []policyVersion{{"v1", in.PolicyDocument, now}}}
	s.policies.Put("", arn, p)
	return &policyOut{s.policyView(p, true)}, nil
}

func (s *Service) getPolicy(_ *wire.Call, in *ofARN) (*policyOut, error) {
	p, err := s.managed(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &policyOut{s.policyView(p, true)}, nil
}

func (s *Service) deletePolicy(_ *wire.Call, in *ofARN) (*none, error) {
	p, err := s.customer(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if attached, boundary := s.uses(p.ARN); attached+boundary > 0 {
		return nil, conflict("Cannot delete a policy attached to entities.")
	}
	if len(p.Versions) > 1 {
		return nil, conflict("This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
	}
	s.policies.Delete("", p.ARN)
	return &none{}, nil
}

type policyList struct {
	Policies []policyView
	paged
}

func (s *Service) listPolicies(c *wire.Call, in *struct {
	paging
	Scope, PathPrefix, PolicyUsageFilter string
	OnlyAttached                         bool
}) (*policyList, error) {
	var all []*managedPolicy
	switch in.Scope {
	case "", "All":
		all = append(awsPolicies(), s.policies.Visible("")...)
	case "AWS":
		all = awsPolicies()
	case "Local":
		all = s.policies.Visible("")
	default:
		return nil, invalid("1 validation error detected: Value '%s' at 'scope' failed to satisfy constraint: Member must satisfy enum value set: [All, AWS, Local]", in.Scope)
	}
	if f := in.PolicyUsageFilter; f != "" && f != "PermissionsPolicy" && f != "PermissionsBoundary" {
		return nil, invalid("1 validation error detected: Value '%s' at 'policyUsageFilter' failed to satisfy constraint: Member must satisfy enum value set: [PermissionsPolicy, PermissionsBoundary]", f)
	}
	rows := []policyView{}
	for _, p := range all {
		v := s.policyView(p, false)
		used := !in.OnlyAttached || v.AttachmentCount > 0
		boundary := in.PolicyUsageFilter != "PermissionsBoundary" || v.PermissionsBoundaryUsageCount > 0
		if used && boundary && strings.HasPrefix(p.Path, in.PathPrefix) {
			rows = append(rows, v)
		}
	}
	rows, more, err := page(c, rows, in.paging)
	return &policyList{rows, more}, err
}

type versionView struct {
	Document         string
	VersionId        string
	IsDefaultVersion bool
	CreateDate       time.Time
}

type versionOut struct{ PolicyVersion versionView }

func (p *managedPolicy) view(v policyVersion, text bool) versionView {
	out := versionView{VersionId: v.ID, IsDefaultVersion: v.ID == p.Default, CreateDate: v.Created}
	if text {
		out.Document = escape(v.Text)
	}
	return out
}

func (s *Service) createVersion(c *wire.Call, in *struct {
	ofARN
	PolicyDocument string `wire:"PolicyDocument,required"`
	SetAsDefault   bool
}) (*versionOut, error) {
	p, err := s.customer(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if err := checkManaged(in.PolicyDocument); err != nil {
		return nil, err
	}
	if len(p.Versions) >= 5 {
		return nil, limitExceeded("A managed policy can have up to 5 versions. Before you create a new version, you must delete an existing version.")
	}
	v := policyVersion{"v" + strconv.Itoa(p.NextVersion), in.PolicyDocument, stamp(c.Now)}
	p.NextVersion++
	p.Versions = append(p.Versions, v)
	if in.SetAsDefault {
		p.Default = v.ID
	}
	p.Updated = v.Created
	s.policies.Put("", p.ARN, p)
	return &versionOut{p.view(v, false)}, nil
}

type ofVersion struct {
	ofARN
	VersionId string `wire:"VersionId,required"`
}

func (p *managedPolicy) find(id string) (int, *wire.Error) {
	i := slices.IndexFunc(p.Versions, func(v policyVersion) bool { return v.ID == id })
	if i < 0 {
		return 0, noSuchEntity("Policy %s version %s does not exist or is not attachable.", p.ARN, id)
	}
	return i, nil
}

func (s *Service) getVersion(_ *wire.Call, in *ofVersion) (*versionOut, error) {
	p, err := s.managed(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	i, err := p.find(in.VersionId)
	if err != nil {
		return nil, err
	}
	return &versionOut{p.view(p.Versions[i], true)}, nil
}

type versionList struct {
	Versions []versionView
	paged
}

func (s *Service) listVersions(c *wire.Call, in *struct {
	ofARN
	paging
}) (*versionList, error) {
	p, rerr := s.managed(in.PolicyArn)
	if rerr != nil {
		return nil, rerr
	}
	rows := []versionView{}
	for _, v := range slices.Backward(p.Versions) {
		rows = append(rows, p.view(v, false))
	}
	rows, more, err := page(c, rows, in.paging)
	return &versionList{rows, more}, err
}

func (s *Service) deleteVersion(_ *wire.Call, in *ofVersion) (*none, error) {
	p, err := s.customer(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	i, err := p.find(in.VersionId)
	if err != nil {
		return nil, err
	}
	if in.VersionId == p.Default {
		return nil, conflict("Cannot delete the default version of a policy.")
	}
	p.Versions = slices.Delete(p.Versions, i, i+1)
	s.policies.Put("", p.ARN, p)
	return &none{}, nil
}

func (s *Service) setDefaultVersion(_ *wire.Call, in *ofVersion) (*none, error) {
	p, err := s.customer(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if _, err := p.find(in.VersionId); err != nil {
		return nil, err
	}
	p.Default = in.VersionId
	s.policies.Put("", p.ARN, p)
	return &none{}, nil
}
