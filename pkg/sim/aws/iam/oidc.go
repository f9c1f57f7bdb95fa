// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// provider is a row of the table of OIDC providers, whose id is the ARN.
type provider struct {
	ARN, URL    string // the URL without its scheme
	Clients     []string
	Thumbprints []string
	Created     time.Time
	Tags        []Tag
}

func (s *Service) provider(arn string) (*provider, *wire.Error) {
	if p := s.oidc.Get("", arn); p != nil {
		return p, nil
	}
	return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", arn)
}

type ofProvider struct {
	OpenIDConnectProviderArn string `wire:"OpenIDConnectProviderArn,required"`
}

func (s *Service) oidcOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateOpenIDConnectProvider": wire.Op(s.createProvider), "GetOpenIDConnectProvider": wire.Op(s.getProvider),
		"DeleteOpenIDConnectProvider": wire.Op(s.deleteProvider), "ListOpenIDConnectProviders": wire.Op(s.listProviders),
		"UpdateOpenIDConnectProviderThumbprint": wire.Op(s.updateThumbprint),
		"AddClientIDToOpenIDConnectProvider":    wire.Op(s.addClient), "RemoveClientIDFromOpenIDConnectProvider": wire.Op(s.removeClient),
	}
}

var thumbprintPattern = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

func checkThumbprints(list []string) *wire.Error {
	if len(list) > 5 {
		return limitExceeded("Thumbprint list must contain fewer than 5 entries.")
	}
	for _, t := range list {
		if !thumbprintPattern.MatchString(t) {
			return wire.Errorf("InvalidInput", "Thumbprint must be 40 hexadecimal characters: %s", t)
		}
	}
	return nil
}

func (s *Service) createProvider(c *wire.Call, in *struct {
	Url            string `wire:"Url,required"`
	ClientIDList   []string
	ThumbprintList []string
	Tags           []Tag
}) (*struct {
	OpenIDConnectProviderArn string
	Tags                     []Tag `wire:"Tags,omitempty"`
}, error) {
	u, perr := url.Parse(in.Url)
	if perr != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || len(in.Url) > 255 {
		return nil, invalid("Invalid Open ID Connect Provider URL")
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	if len(in.ClientIDList) > 100 {
		return nil, limitExceeded("Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: 100")
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	p := &provider{URL: u.Host + strings.TrimSuffix(u.Path, "/"), Clients: in.ClientIDList, Thumbprints: in.ThumbprintList, Created: stamp(c.Now), Tags: tags}
	p.ARN = "arn:aws:iam::" + s.account + ":oidc-provider/" + p.URL
	if s.oidc.Get("", p.ARN) != nil {
		return nil, refuse(409, "EntityAlreadyExists", "Provider with url https://%s already exists.", p.URL)
	}
	if most := c.Quota("iam/oidc-providers", 100); len(s.oidc.All("")) >= most {
		return nil, limitExceeded("Cannot exceed quota for OpenIdConnectProvidersPerAccount: %d", most)
	}
	s.oidc.Put("", p.ARN, p)
	return &struct {
		OpenIDConnectProviderArn string
		Tags                     []Tag `wire:"Tags,omitempty"`
	}{p.ARN, p.Tags}, nil
}

type providerOut struct {
	Url            string
	ClientIDList   []string
	ThumbprintList []string
	CreateDate     time.Time
	Tags           []Tag `wire:"Tags,omitempty"`
}

func (s *Service) getProvider(_ *wire.Call, in *ofProvider) (*providerOut, error) {
	p, err := s.provider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	return &providerOut{p.URL, p.Clients, p.Thumbprints, p.Created, p.Tags}, nil
}

func (s *Service) deleteProvider(_ *wire.Call, in *ofProvider) (*none, error) {
	p, err := s.provider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	s.oidc.Delete("", p.ARN)
	return &none{}, nil
}

type providerList struct {
	OpenIDConnectProviderList []struct{ Arn string }
}

// listProviders has no pages: IAM returns all of them.
func (s *Service) listProviders(_ *wire.Call, _ *none) (*providerList, error) {
	var out providerList
	for _, p := range s.oidc.Visible("") {
		out.OpenIDConnectProviderList = append(out.OpenIDConnectProviderList, struct{ Arn string }{p.ARN})
	}
	return &out, nil
}

func (s *Service) updateThumbprint(_ *wire.Call, in *struct {
	ofProvider
	ThumbprintList []string `wire:"ThumbprintList,required"`
}) (*none, error) {
	p, err := s.provider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	p.Thumbprints = in.ThumbprintList
	s.oidc.Put("", p.ARN, p)
	return &none{}, nil
}

type ofClient struct {
	ofProvider
	ClientID string `wire:"ClientID,required"`
}

func (s *Service) addClient(_ *wire.Call, in *ofClient) (*none, error) {
	p, err := s.provider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.Clients, in.ClientID) {
		p.Clients = append(p.Clients, in.ClientID)
		s.oidc.Put("", p.ARN, p)
	}
	return &none{}, nil
}

func (s *Service) removeClient(_ *wire.Call, in *ofClient) (*none, error) {
	p, err := s.provider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	p.Clients = slices.DeleteFunc(slices.Clone(p.Clients), func(id string) bool { return id == in.ClientID })
	s.oidc.Put("", p.ARN, p)
	return &none{}, nil
}
