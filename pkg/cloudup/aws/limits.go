// SPDX-License-Identifier: Apache-2.0

package aws

import "github.com/slipway-k8s/slipway/pkg/cloudup"

// What AWS allows of names, from its API references.
var (
	limitRole     = cloudup.Limit{What: "IAM role", Max: 64, Punctuation: "+=,.@-_"}
	limitProfile  = cloudup.Limit{What: "IAM instance profile", Max: 128, Punctuation: "+=,.@-_"}
	limitBalancer = cloudup.Limit{What: "load balancer", Max: 32, Punctuation: "-", Edges: true}
	limitTarget   = cloudup.Limit{What: "target group", Max: 32, Punctuation: "-", Edges: true}
	limitTemplate = cloudup.Limit{What: "launch template", Max: 128, Punctuation: "-()./_"}
	limitScaling  = cloudup.Limit{What: "auto scaling group", Max: 255, Punctuation: "-._/ "}
	limitKeyPair  = cloudup.Limit{What: "key pair", Max: 255, Punctuation: "-._:/ @+=,"}
)

// What AWS allows of contents, in bytes unless said otherwise.
const (
	maxUserData       = 16384 // before base64
	maxInlinePolicies = 10240 // characters of all inline policies of a role together
	maxAttached       = 10    // policies attached to a role
	maxTagsPerCall    = 20    // resources in one DescribeTags of load balancing
	maxNamesPerFilter = 200   // values of all filters of one EC2 call
)
