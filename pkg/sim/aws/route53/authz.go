// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// Actions lists what Checks may ask.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{}
	for op, r := range routes {
		out["route53:"+op] = nil
		switch {
		case op == "GetChange":
			out["route53:"+op] = []string{"change"}
		case strings.HasPrefix(r.path, "hostedzone/{id}") || strings.HasPrefix(r.path, "tags/"):
			out["route53:"+op] = []string{"hostedzone"}
		}
	}
	return out
}

// Checks says which rights a call needs.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	k := wire.Check{Action: "route53:" + c.Action, Resource: "*"}
	id := c.Params.Get("Id")
	switch {
	case c.Action == "GetChange":
		k.Resource = "arn:aws:route53:::change/" + id
	case c.Action == "ListTagsForResources":
		k.Resource = "arn:aws:route53:::hostedzone/*"
	case id != "":
		k.Resource = "arn:aws:route53:::hostedzone/" + id
	}
	if c.Action == "ChangeResourceRecordSets" {
		recordKeys(c, &k)
	}
	return []wire.Check{k}
}

// recordKeys gives the names, types and actions of a batch, the names in small
// letters and without the last dot, as AWS normalises them.
func recordKeys(c *wire.Call, k *wire.Check) {
	var in changeRecordsIn
	if xml.Unmarshal(c.Body, &in) != nil {
		return
	}
	var names, types, actions []string
	add := func(list *[]string, v string) {
		if v != "" && !slices.Contains(*list, v) {
			*list = append(*list, v)
		}
	}
	for _, ch := range in.ChangeBatch.Changes {
		add(&names, strings.TrimSuffix(strings.ToLower(ch.ResourceRecordSet.Name), "."))
		add(&types, ch.ResourceRecordSet.Type)
		add(&actions, ch.Action)
	}
	k.Set("route53:ChangeResourceRecordSetsNormalizedRecordNames", names...)
	k.Set("route53:ChangeResourceRecordSetsRecordTypes", types...)
	k.Set("route53:ChangeResourceRecordSetsActions", actions...)
}
