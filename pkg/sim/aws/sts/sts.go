// SPDX-License-Identifier: Apache-2.0

// Package sts is the simulated STS: it says who calls, and hands out sessions whose credentials the front door then knows; pkg/sim registers it.
package sts

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Directory is what STS asks IAM.
type Directory interface {
	// Lookup finds the user of an access key.
	Lookup(accessKey string, now time.Time) (p wire.Principal, secret, token string, ok bool)
	// Assume judges whether a call's principal may take a role, by the role's trust policy.
	Assume(c *wire.Call, roleARN, externalID string) (Role, *wire.Error)
	// Trust is a role's trust policy and its tags, "" for a role that is not there.
	Trust(roleARN string) (policy string, tags map[string]string)
	// Identity is what IAM knows of a principal.
	Identity(p wire.Principal) authz.Identity
	// CheckPolicy refuses an identity policy that IAM would refuse.
	CheckPolicy(text string) *wire.Error
	// ManagedPolicy is the text of a managed policy.
	ManagedPolicy(arn string) (text string, err *wire.Error)
	// RoleOfProfile is the role in an instance profile, "" when there is none.
	RoleOfProfile(profileARN string) (name, arn, id string)
}

// Role is a role that may be taken.
type Role struct {
	Name, ID   string
	MaxSession int // seconds
}

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of keys; crypto/rand when nil
}

// Service is the simulated STS.
type Service struct {
	*wire.QueryService
	account  string
	rand     io.Reader
	iam      Directory
	sessions *world.Table[session]
}

// session is a row of the table of sessions, whose id is the access key.
type session struct {
	AccessKey, Secret, Token string
	ARN, UserID              string
	Expires                  time.Time
	Policies                 []string // session policies, which the role's rights are cut to
}

// Credentials are a session's, as STS and the metadata service write them.
type Credentials struct {
	AccessKeyId, SecretAccessKey, SessionToken string
	Expiration                                 time.Time
}

// New makes the service with its tables in w.
func New(w *world.World, iam Directory, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand, iam: iam}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	var err error
	if s.sessions, err = world.NewTable[session](w, "sts/session"); err != nil {
		return nil, err
	}
	s.QueryService = &wire.QueryService{
		ServiceName: "sts", Version: "2011-06-15", Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", Dialect: wire.Query,
		Ops: map[string]wire.Handler{
			"GetCallerIdentity": wire.Op(s.callerIdentity), "AssumeRole": wire.Op(s.assumeRole), "GetSessionToken": wire.Op(s.sessionToken),
		},
	}
	return s, nil
}

// Lookup finds the principal of an access key: a session's or a user's. The
// front door calls it inside the world's lock.
func (s *Service) Lookup(accessKey string, now time.Time) (p wire.Principal, secret, token string, ok bool) {
	if row := s.sessions.Get("", accessKey); row != nil {
		p = wire.Principal{ARN: row.ARN, UserID: row.UserID, Account: s.account, AccessKey: accessKey}
		return p, row.Secret, row.Token, now.Before(row.Expires)
	}
	return s.iam.Lookup(accessKey, now)
}

// Settle forgets sessions that ended long ago.
func (s *Service) Settle(now time.Time) {
	for _, row := range s.sessions.All("") {
		if now.Sub(row.Expires) > time.Hour {
			s.sessions.Delete("", row.AccessKey)
		}
	}
}

// InstanceCredentials opens a session for the role of an instance, as the
// metadata service hands out; ok is false when the profile has no role.
func (s *Service) InstanceCredentials(profileARN, instanceID string, now time.Time) (role string, creds Credentials, ok bool) {
	name, _, id := s.iam.RoleOfProfile(profileARN)
	if name == "" {
		return "", Credentials{}, false
	}
	return name, s.open(s.assumedARN(name, instanceID), id+":"+instanceID, now.Add(6*time.Hour)), true
}

func (s *Service) assumedARN(role, name string) string {
	return "arn:aws:sts::" + s.account + ":assumed-role/" + role + "/" + name
}

// open makes a session.
func (s *Service) open(arn, userID string, until time.Time, policies ...string) Credentials {
	row := &session{AccessKey: "ASIA" + s.random(16), Secret: s.random(40), ARN: arn, UserID: userID, Expires: until.UTC().Truncate(time.Second), Policies: policies}
	raw := make([]byte, 96)
	_, _ = io.ReadFull(s.rand, raw) // a short read leaves zeros: still a token
	row.Token = base64.StdEncoding.EncodeToString(raw)
	s.sessions.Put("", row.AccessKey, row)
	return Credentials{row.AccessKey, row.Secret, row.Token, row.Expires}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

func (s *Service) random(n int) string {
	b := make([]byte, n)
	_, _ = io.ReadFull(s.rand, b) // a short read leaves zeros: still a key
	for i := range b {
		b[i] = alphabet[b[i]%32]
	}
	return string(b)
}

type identity struct{ UserId, Account, Arn string }

// signed refuses a call without a signature: every operation here needs one.
func signed(c *wire.Call) *wire.Error {
	if c.Principal.ARN == "" {
		return &wire.Error{Code: "MissingAuthenticationToken", Message: "Request is missing Authentication Token", Status: http.StatusForbidden}
	}
	return nil
}

func (s *Service) callerIdentity(c *wire.Call, _ *struct{}) (*identity, error) {
	if err := signed(c); err != nil {
		return nil, err
	}
	return &identity{c.Principal.UserID, c.Principal.Account, c.Principal.ARN}, nil
}

type assumed struct {
	Credentials     Credentials
	AssumedRoleUser struct{ AssumedRoleId, Arn string }
	SourceIdentity  string
}

type policyARN struct {
	Arn string `wire:"arn,required"`
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9_+=,.@-]{2,64}$`)

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func (s *Service) assumeRole(c *wire.Call, in *struct {
	RoleArn         string `wire:"RoleArn,required"`
	RoleSessionName string `wire:"RoleSessionName,required"`
	DurationSeconds *int
	ExternalId      string
	SourceIdentity  string
	Policy          string
	PolicyArns      []policyARN
}) (*assumed, error) {
	if err := signed(c); err != nil {
		return nil, err
	}
	if !sessionName.MatchString(in.RoleSessionName) {
		return nil, invalid(`1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\w+=,.@-]*`, in.RoleSessionName)
	}
	role, err := s.iam.Assume(c, in.RoleArn, in.ExternalId)
	if err != nil {
		return nil, err
	}
	most := role.MaxSession
	chained := strings.Contains(c.Principal.ARN, ":assumed-role/")
	if chained {
		most = min(most, 3600)
	}
	duration := min(3600, most)
	if in.DurationSeconds != nil {
		duration = *in.DurationSeconds
	}
	switch {
	case duration < 900 || duration > 43200:
		return nil, invalid("1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: Member must have value between 900 and 43200", duration)
	case duration > most && chained:
		return nil, invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining")
	case duration > most:
		return nil, invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	policies, err := s.sessionPolicies(in.Policy, in.PolicyArns)
	if err != nil {
		return nil, err
	}
	out := &assumed{SourceIdentity: in.SourceIdentity}
	out.AssumedRoleUser.Arn = s.assumedARN(role.Name, in.RoleSessionName)
	out.AssumedRoleUser.AssumedRoleId = role.ID + ":" + in.RoleSessionName
	out.Credentials = s.open(out.AssumedRoleUser.Arn, out.AssumedRoleUser.AssumedRoleId, c.Now.Add(time.Duration(duration)*time.Second), policies...)
	return out, nil
}

type sessionOut struct{ Credentials Credentials }

func (s *Service) sessionToken(c *wire.Call, in *struct{ DurationSeconds *int }) (*sessionOut, error) {
	if err := signed(c); err != nil {
		return nil, err
	}
	if !strings.Contains(c.Principal.ARN, ":user/") {
		return nil, &wire.Error{Code: "AccessDenied", Message: "Cannot call GetSessionToken with session credentials", Status: http.StatusForbidden}
	}
	duration := 43200
	if in.DurationSeconds != nil {
		duration = *in.DurationSeconds
	}
	if duration < 900 || duration > 129600 {
		return nil, invalid("1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: Member must have value between 900 and 129600", duration)
	}
	return &sessionOut{s.open(c.Principal.ARN, c.Principal.UserID, c.Now.Add(time.Duration(duration)*time.Second))}, nil
}
