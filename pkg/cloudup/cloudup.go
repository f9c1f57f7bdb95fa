// SPDX-License-Identifier: Apache-2.0

// Package cloudup is what the operations in pkg/cluster ask of a cloud; each cloud
// implements it in a folder of its own and pkg/cloudup/all lists them.
package cloudup

import (
	"context"
	"errors"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Cloud is one cloud in one region, bound to one cluster. Methods that talk to the
// cloud return errors classed as pkg/tasks has them.
type Cloud interface {
	// Whoami says who the calls are made as. A failure means no usable credentials.
	Whoami(ctx context.Context) (Identity, error)

	// Resolve fills in what only the cloud knows and what creation must store: images,
	// machine types, subnets' zones and ranges in an existing network. It writes
	// nothing in the cloud and changes only fields that are not set.
	Resolve(ctx context.Context, m *api.Manifest) error

	// Check reports what the cloud would refuse: zones, types not offered in a zone,
	// architecture against image, ids that do not exist, limits, another cluster of the
	// same name. It reads only; all faults come in one answer.
	Check(ctx context.Context, m *api.Manifest) (api.Faults, error)

	// SealingKey adds the task of the cluster's own key for what is sealed in the store to
	// a graph, before Lower; nil where the blueprint wants none.
	SealingKey(b *model.Blueprint, g *tasks.Graph) (SealingKey, error)

	// Lower adds the tasks of a blueprint to a graph. It does no I/O.
	Lower(b *model.Blueprint, g *tasks.Graph) error

	// Provide says which Terraform provider the exported tasks belong to.
	Provide(m *terraform.Module)

	// Removals adds the removal of every object that this cluster owns and that no
	// wanted task of the graph claimed when it was observed. With an empty graph that is
	// the whole cluster; shared objects lose only the marks we put there.
	Removals(ctx context.Context, g *tasks.Graph) error
}

// SealingKey is the task of a key in the cloud's key management service.
type SealingKey interface {
	tasks.Task
	// Key is the name by which sealed objects know the key, such as "aws-kms:<ARN>".
	Key() *tasks.Output[string]
}

// ErrNoCredentials is in the chain of every error that comes of having no usable
// credentials for the cloud at all, as opposed to a right that is missing.
var ErrNoCredentials = errors.New("no usable credentials for the cloud")

// Identity is who the cloud says we are.
type Identity struct {
	Account string // account, project or team
	Name    string // user or role
	Region  string
}

// String returns the identity as plans print it.
func (i Identity) String() string { return i.Name + " in " + i.Account + " (" + i.Region + ")" }

// Ledger is where a cloud records what cannot carry the cluster's UID, and reads it
// back. The state store implements it.
type Ledger interface {
	// Entries returns all entries of the cluster.
	Entries(ctx context.Context) ([]LedgerEntry, error)
	// Record adds or replaces an entry, by Kind and ID.
	Record(ctx context.Context, e LedgerEntry) error
	// Forget removes an entry; an absent one is no error.
	Forget(ctx context.Context, kind, id string) error
}

// LedgerEntry is one object that the cluster owns or has marked.
type LedgerEntry struct {
	Kind string `json:"kind"` // such as "aws/record"
	ID   string `json:"id"`   // the cloud's own id
	Name string `json:"name,omitempty"`
	Note string `json:"note,omitempty"`
}
