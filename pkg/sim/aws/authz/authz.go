// SPDX-License-Identifier: Apache-2.0

// Package authz decides which calls to the simulated AWS are allowed, by identity, resource and session policies and permissions boundaries; pkg/sim plugs it into the front door.
package authz

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Policy is a policy with the name that reports call it by.
type Policy struct{ Name, Text string }

// Identity is what IAM and STS know of a principal.
type Identity struct {
	RoleARN  string            // of a session's role, "" for users
	UserName string            // "" for sessions
	Tags     map[string]string // of the role or user
	Policies []Policy          // inline and attached
	Boundary *Policy           // permissions boundary
	Session  []Policy          // session policies
}

// Directory finds what is known of a principal.
type Directory interface {
	Identity(p wire.Principal) Identity
}

// Judge judges calls. It is the front door's Authorizer.
type Judge struct {
	directory Directory
	services  map[string]wire.Authorised
}

// New makes a judge of these services, by signing name.
func New(d Directory, services map[string]wire.Authorised) *Judge {
	return &Judge{directory: d, services: services}
}

// Actions lists the actions that calls may need, with the types of resources.
func (j *Judge) Actions() map[string][]string {
	out := map[string][]string{}
	for _, s := range j.services {
		maps.Copy(out, s.Actions())
	}
	return out
}

// Authorize judges a call and notes in it what was asked and why it was allowed
// or refused. A principal above all is allowed everything; what its call needs is
// noted all the same.
func (j *Judge) Authorize(c *wire.Call, aboveAll bool) *wire.Error {
	s := j.services[c.Service]
	if s == nil {
		return nil
	}
	checks := s.Checks(c)
	c.Checks = checks
	if aboveAll {
		for i := range checks {
			checks[i].Allowed = true
		}
		return nil
	}
	if c.Principal.ARN == "" {
		return j.anonymous(c)
	}
	who := j.directory.Identity(c.Principal)
	common := commonKeys(c, who)
	for i := range checks {
		if why := judge(c, &checks[i], who, common); why != "" {
			return Refusal(c, checks[i].Action, checks[i].Resource, why)
		}
	}
	return nil
}

// anonymous lets a caller who signed nothing do what a resource's policy allows to
// everybody; otherwise the service refuses the call itself, in its own words.
func (j *Judge) anonymous(c *wire.Call) *wire.Error {
	common := commonKeys(c, Identity{})
	for i := range c.Checks {
		k := &c.Checks[i]
		v, name, err := read(Policy{"resource", k.Policy}, query(c, k, Identity{}, common))
		if err != nil || k.Policy == "" || v.Denied != "" || len(v.Allowed) == 0 {
			return nil
		}
		k.Allowed, k.By = true, statements(name, v.Allowed)
	}
	c.Public = len(c.Checks) > 0
	return nil
}

func query(c *wire.Call, k *wire.Check, who Identity, common policy.Keys) policy.Query {
	keys := policy.Keys{}
	for name, values := range common {
		keys[name] = values
	}
	for name, values := range k.Keys {
		keys[name] = values
	}
	return policy.Query{Action: k.Action, Resource: k.Resource, Keys: keys,
		Caller: policy.Caller{ARN: c.Principal.ARN, Role: who.RoleARN, Account: c.Account}}
}

// commonKeys are the condition keys that every call carries. The simulator stands
// for an endpoint with TLS, whatever it is reached by.
func commonKeys(c *wire.Call, who Identity) policy.Keys {
	k := policy.Keys{}
	k.Set("aws:CurrentTime", c.Now.UTC().Format(time.RFC3339))
	k.Set("aws:EpochTime", strconv.FormatInt(c.Now.Unix(), 10))
	k.Set("aws:SecureTransport", "true")
	k.Set("aws:RequestedRegion", c.Region)
	k.Set("aws:ResourceAccount", c.Account)
	k.Set("aws:ViaAWSService", "false")
	k.Set("aws:PrincipalIsAWSService", "false")
	if host, _, err := net.SplitHostPort(c.Request.RemoteAddr); err == nil {
		k.Set("aws:SourceIp", host)
	}
	if agent := c.Request.UserAgent(); agent != "" {
		k.Set("aws:UserAgent", agent)
	}
	if c.Principal.ARN == "" {
		k.Set("aws:PrincipalType", "Anonymous")
		return k
	}
	k.Set("aws:PrincipalArn", c.Principal.ARN)
	k.Set("aws:PrincipalType", "User")
	if who.RoleARN != "" {
		k.Set("aws:PrincipalArn", who.RoleARN)
		k.Set("aws:PrincipalType", "AssumedRole")
	} else {
		k.Set("aws:username", who.UserName)
	}
	k.Set("aws:PrincipalAccount", c.Principal.Account)
	k.Set("aws:userid", c.Principal.UserID)
	for name, value := range who.Tags {
		k.Set("aws:PrincipalTag/"+name, value)
	}
	return k
}

func statements(document string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = document + "/" + n
	}
	return out
}

// Refusal words a refusal as the call's service does.
func Refusal(c *wire.Call, action, resource, why string) *wire.Error {
	text := fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s %s", c.Principal.ARN, action, resource, why)
	switch c.Service {
	case "ec2":
		return &wire.Error{Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation. " + text, Status: http.StatusForbidden}
	case "s3":
		return &wire.Error{Code: "AccessDenied", Message: strings.Replace(text, resource+" ", `"`+resource+`" `, 1), Status: http.StatusForbidden}
	case "kms":
		return &wire.Error{Code: "AccessDeniedException", Message: text, Status: http.StatusBadRequest}
	}
	return &wire.Error{Code: "AccessDenied", Message: text, Status: http.StatusForbidden}
}
