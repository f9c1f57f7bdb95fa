// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// user is a row of the table of users.
type user struct {
	Name, ID, Path, ARN string
	Created             time.Time
	holder
}

// accessKey is a row of the table of access keys, whose id is the key's.
type accessKey struct {
	ID, Secret, User string
	Active           bool
	Created          time.Time
}

func (s *Service) user(name string) (*user, *wire.Error) {
	if u := s.users.Get("", key(name)); u != nil {
		return u, nil
	}
	return nil, noSuchEntity("The user with name %s cannot be found.", name)
}

type userView struct {
	Path, UserName, UserId, Arn string
	CreateDate                  time.Time
	PermissionsBoundary         *boundaryView
	Tags                        []Tag `wire:"Tags,omitempty"`
}

func (u *user) view() userView {
	v := userView{Path: u.Path, UserName: u.Name, UserId: u.ID, Arn: u.ARN, CreateDate: u.Created, Tags: u.Tags}
	if u.Boundary != "" {
		v.PermissionsBoundary = &boundaryView{"Policy", u.Boundary}
	}
	return v
}

type userOut struct{ User userView }

type userList struct {
	Users []userView
	paged
}

func (s *Service) userOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateUser": wire.Op(s.createUser), "GetUser": wire.Op(s.getUser), "DeleteUser": wire.Op(s.deleteUser),
		"ListUsers": wire.Op(s.listUsers), "GetAccountSummary": wire.Op(s.accountSummary),
	}
}

func (s *Service) createUser(c *wire.Call, in *struct {
	ofUser
	Path, PermissionsBoundary string
	Tags                      []Tag
}) (*userOut, error) {
	if err := checkName("userName", in.UserName, 64); err != nil {
		return nil, err
	}
	if err := checkPath(&in.Path); err != nil {
		return nil, err
	}
	if s.users.Get("", key(in.UserName)) != nil {
		return nil, exists("User", in.UserName)
	}
	u := &user{Name: in.UserName, ID: s.newID("AIDA"), Path: in.Path, ARN: s.arn("user", in.Path, in.UserName), Created: stamp(c.Now)}
	if in.PermissionsBoundary != "" {
		if _, err := s.managed(in.PermissionsBoundary); err != nil {
			return nil, err
		}
		u.Boundary = in.PermissionsBoundary
	}
	var err *wire.Error
	if u.Tags, err = mergeTags(nil, in.Tags); err != nil {
		return nil, err
	}
	s.users.Put("", key(u.Name), u)
	return &userOut{u.view()}, nil
}

// getUser without a name is about the caller.
func (s *Service) getUser(c *wire.Call, in *struct{ UserName string }) (*userOut, error) {
	name := in.UserName
	if name == "" {
		_, after, isUser := strings.Cut(c.Principal.ARN, ":user/")
		if !isUser {
			return nil, invalid("Must specify userName when calling with non-User credentials")
		}
		name = after[strings.LastIndex(after, "/")+1:]
		if s.users.Get("", key(name)) == nil { // the built-in operator has no row
			return &userOut{userView{Path: "/", UserName: name, UserId: c.Principal.UserID, Arn: c.Principal.ARN, CreateDate: time.Unix(0, 0)}}, nil
		}
	}
	u := s.users.Find("", key(name))
	if u == nil {
		return nil, noSuchEntity("The user with name %s cannot be found.", name)
	}
	return &userOut{u.view()}, nil
}

func (s *Service) deleteUser(_ *wire.Call, in *ofUser) (*none, error) {
	u, err := s.user(in.UserName)
	if err != nil {
		return nil, err
	}
	for _, k := range s.keys.All("") {
		if key(k.User) == key(u.Name) {
			return nil, conflict("Cannot delete entity, must delete access keys first.")
		}
	}
	if err := u.undeletable(); err != nil {
		return nil, err
	}
	s.users.Delete("", key(u.Name))
	return &none{}, nil
}

func (s *Service) listUsers(c *wire.Call, in *struct {
	PathPrefix string
	paging
}) (*userList, error) {
	rows := []userView{}
	for _, u := range s.users.Visible("") {
		if strings.HasPrefix(u.Path, in.PathPrefix) {
			v := u.view()
			v.Tags, v.PermissionsBoundary = nil, nil
			rows = append(rows, v)
		}
	}
	rows, more, err := page(c, rows, in.paging)
	return &userList{rows, more}, err
}

type summaryOut struct{ SummaryMap map[string]string }

func (s *Service) accountSummary(c *wire.Call, _ *none) (*summaryOut, error) {
	counts := map[string]int{
		"Roles": len(s.roles.All("")), "RolesQuota": c.Quota("iam/roles", 1000),
		"Users": len(s.users.All("")), "UsersQuota": 5000,
		"InstanceProfiles": len(s.profiles.All("")), "InstanceProfilesQuota": c.Quota("iam/instance-profiles", 1000),
		"Policies": len(s.policies.All("")), "PoliciesQuota": 1500, "PolicySizeQuota": 6144,
		"AttachedPoliciesPerRoleQuota": c.Quota("iam/policies-per-role", 10), "AssumeRolePolicySizeQuota": 2048,
		"UserPolicySizeQuota": 2048, "VersionsPerPolicyQuota": 5, "AccountMFAEnabled": 0,
	}
	out := map[string]string{}
	for name, n := range counts {
		out[name] = strconv.Itoa(n)
	}
	return &summaryOut{out}, nil
}

func (s *Service) keyOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateAccessKey": wire.Op(s.createKey), "ListAccessKeys": wire.Op(s.listKeys),
		"DeleteAccessKey": wire.Op(s.deleteKey), "UpdateAccessKey": wire.Op(s.updateKey),
	}
}

type keyOut struct {
	AccessKey struct {
		UserName, AccessKeyId, Status, SecretAccessKey string
		CreateDate                                     time.Time
	}
}

func (s *Service) createKey(c *wire.Call, in *ofUser) (*keyOut, error) {
	u, err := s.user(in.UserName)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, k := range s.keys.All("") {
		if key(k.User) == key(u.Name) {
			count++
		}
	}
	if count >= 2 {
		return nil, limitExceeded("Cannot exceed quota for AccessKeysPerUser: 2")
	}
	k := &accessKey{ID: s.newID("AKIA")[:20], User: u.Name, Active: true, Created: stamp(c.Now),
		Secret: s.random(40, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")}
	s.keys.Put("", k.ID, k)
	var out keyOut
	out.AccessKey.UserName, out.AccessKey.AccessKeyId, out.AccessKey.Status = k.User, k.ID, "Active"
	out.AccessKey.SecretAccessKey, out.AccessKey.CreateDate = k.Secret, k.Created
	return &out, nil
}

type keyView struct {
	UserName, AccessKeyId, Status string
	CreateDate                    time.Time
}

type keyList struct {
	AccessKeyMetadata []keyView
	paged
}

func (s *Service) listKeys(c *wire.Call, in *struct {
	ofUser
	paging
}) (*keyList, error) {
	if _, err := s.user(in.UserName); err != nil {
		return nil, err
	}
	rows := []keyView{}
	for _, k := range s.keys.Visible("") {
		if key(k.User) == key(in.UserName) {
			status := "Inactive"
			if k.Active {
				status = "Active"
			}
			rows = append(rows, keyView{k.User, k.ID, status, k.Created})
		}
	}
	rows, more, err := page(c, rows, in.paging)
	return &keyList{rows, more}, err
}

type ofKey struct {
	UserName    string
	AccessKeyId string `wire:"AccessKeyId,required"`
}

func (s *Service) accessKey(in ofKey) (*accessKey, *wire.Error) {
	k := s.keys.Get("", in.AccessKeyId)
	if k == nil || in.UserName != "" && key(in.UserName) != key(k.User) {
		return nil, noSuchEntity("The Access Key with id %s cannot be found.", in.AccessKeyId)
	}
	return k, nil
}

func (s *Service) deleteKey(_ *wire.Call, in *ofKey) (*none, error) {
	k, err := s.accessKey(*in)
	if err != nil {
		return nil, err
	}
	s.keys.Delete("", k.ID)
	return &none{}, nil
}

func (s *Service) updateKey(_ *wire.Call, in *struct {
	ofKey
	Status string `wire:"Status,required"`
}) (*none, error) {
	k, err := s.accessKey(in.ofKey)
	if err != nil {
		return nil, err
	}
	if in.Status != "Active" && in.Status != "Inactive" {
		return nil, invalid("1 validation error detected: Value '%s' at 'status' failed to satisfy constraint: Member must satisfy enum value set: [Active, Inactive]", in.Status)
	}
	k.Active = in.Status == "Active"
	s.keys.Put("", k.ID, k)
	return &none{}, nil
}

// Lookup finds the user who owns an access key, for the front door.
func (s *Service) Lookup(id string, _ time.Time) (p wire.Principal, secret, token string, ok bool) {
	k := s.keys.Get("", id)
	if k == nil || !k.Active {
		return p, "", "", false
	}
	u := s.users.Get("", key(k.User))
	if u == nil {
		return p, "", "", false
	}
	return wire.Principal{ARN: u.ARN, UserID: u.ID, Account: s.account, AccessKey: id}, k.Secret, "", true
}
