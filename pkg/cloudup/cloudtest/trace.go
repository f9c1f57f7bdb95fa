// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"context"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

type taskKey struct{}

// taskOf returns the task that a call is made for, or "".
func taskOf(ctx context.Context) tasks.ID {
	id, _ := ctx.Value(taskKey{}).(tasks.ID)
	return id
}

// traced is a cloud whose tasks sign their calls with their ID.
type traced struct {
	cloudup.Cloud
	inner *tasks.Graph
}

// SealingKey passes the key on, signed.
func (c *traced) SealingKey(b *model.Blueprint, g *tasks.Graph) (cloudup.SealingKey, error) {
	c.inner = tasks.NewGraph()
	key, err := c.Cloud.SealingKey(b, c.inner)
	if err != nil || key == nil {
		return nil, err
	}
	signed := signingKey{signing{key}, key}
	return signed, g.Add(signed)
}

// signingKey is a key's task that signs its calls.
type signingKey struct {
	signing
	key cloudup.SealingKey
}

// Key is the key's own.
func (k signingKey) Key() *tasks.Output[string] { return k.key.Key() }

// Lower lets the cloud fill a graph of its own and passes its tasks on, signed.
func (c *traced) Lower(b *model.Blueprint, g *tasks.Graph) error {
	if c.inner == nil {
		c.inner = tasks.NewGraph()
	}
	for _, t := range g.Wanted() {
		if c.inner.Task(t.ID()) != nil {
			continue // the key
		}
		if err := c.inner.Add(t); err != nil {
			return err
		}
	}
	if err := c.Cloud.Lower(b, c.inner); err != nil {
		return err
	}
	for _, t := range c.inner.Wanted() {
		if g.Task(t.ID()) != nil {
			continue
		}
		if err := g.Add(signing{t}); err != nil {
			return err
		}
	}
	return nil
}

// Removals does the same with removals.
func (c *traced) Removals(ctx context.Context, g *tasks.Graph) error {
	if c.inner == nil {
		c.inner = tasks.NewGraph()
	}
	if err := c.Cloud.Removals(ctx, c.inner); err != nil {
		return err
	}
	for _, t := range c.inner.Removals() {
		if err := g.Remove(signing{t}); err != nil {
			return err
		}
	}
	return nil
}

// signing is a task that signs its calls.
type signing struct{ tasks.Task }

// Apply lets the task work under its name.
func (s signing) Apply(ctx context.Context, c tasks.Change) error {
	return s.Task.Apply(context.WithValue(ctx, taskKey{}, s.ID()), c)
}

// Describe passes the task's own words on.
func (s signing) Describe() string {
	if d, ok := s.Task.(tasks.Describer); ok {
		return d.Describe()
	}
	return ""
}
