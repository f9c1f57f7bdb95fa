// SPDX-License-Identifier: Apache-2.0

package wire

import "strings"

// Check is one right that a call needs: an action on a resource.
type Check struct {
	Action   string              `json:"action"`   // ec2:AttachVolume
	Resource string              `json:"resource"` // ARN, or "*"
	Keys     map[string][]string `json:"-"`        // condition keys by small name, beside those of every call
	// Policy is the resource's own policy, "" without one. Where it is Closed, as
	// in KMS and for taking a role, identity policies count only if it lets the
	// account in.
	Policy string `json:"-"`
	Closed bool   `json:"-"`
	// Granted is another reason to allow it, such as a grant of KMS.
	Granted string `json:"-"`

	// The judgement, for the log.
	Allowed bool     `json:"allowed"`
	By      []string `json:"by,omitempty"` // what allowed it, or refused it: "role/nodes/slipway/ReadAssets"
}

// Set gives a condition key its values.
func (k *Check) Set(key string, values ...string) {
	if k.Keys == nil {
		k.Keys = map[string][]string{}
	}
	k.Keys[strings.ToLower(key)] = values
}

// ResourceTag gives the tags of the resource, under the keys of the service too.
func (k *Check) ResourceTag(service, key, value string) {
	k.Set("aws:ResourceTag/"+key, value)
	if service != "" {
		k.Set(service+":ResourceTag/"+key, value)
	}
}

// RequestTags gives the tags that a call brings.
func (k *Check) RequestTags(tags map[string]string) {
	for key, value := range tags {
		k.Set("aws:RequestTag/"+key, value)
	}
	k.RequestTagKeys(sortedKeys(tags))
}

// RequestTagKeys gives the names of the tags that a call adds or removes.
func (k *Check) RequestTagKeys(names []string) {
	if len(names) > 0 {
		k.Set("aws:TagKeys", names...)
	}
}

// Authorised is a Service whose calls policies judge. Checks runs inside the
// world's lock, after Route, and must not mind what the call is lacking: a
// parameter that is wrong is refused later. No checks means that anybody with
// credentials may.
type Authorised interface {
	Checks(c *Call) []Check
	// Actions lists the actions that Checks may name, each with the types of
	// resources that it may be checked on; none for those that have none.
	Actions() map[string][]string
}
