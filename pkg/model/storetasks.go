// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Objects is the cluster's part of the state store. Keys are relative to it.
type Objects interface {
	// List returns the sizes in bytes of all objects whose keys begin with prefix.
	List(ctx context.Context, prefix string) (map[string]int64, error)
	// Put writes an object, whether or not it exists.
	Put(ctx context.Context, key string, data []byte) error
}

// StoreTaskID is the ID of the task that keeps an object; what points to the object
// depends on it.
func StoreTaskID(key string) tasks.ID { return tasks.ID("store/object/" + key) }

// StoreTasks adds a task for each object of the blueprint. The objects are named by
// their content, so one that is there and whole is right; all of a folder are found by
// one listing. None is removed here: machines may still be told to read an older one.
func StoreTasks(b *Blueprint, o Objects, g *tasks.Graph) error {
	folders := map[string]*listing{}
	for _, object := range b.Objects {
		folder, _, _ := strings.Cut(object.Key, "/")
		if folders[folder] == nil {
			folders[folder] = &listing{store: o, prefix: folder + "/"}
		}
		if err := g.Add(&storeTask{object: object, folder: folders[folder], store: o}); err != nil {
			return fmt.Errorf("add store objects: %w", err)
		}
	}
	return nil
}

// storeTask keeps one object.
type storeTask struct {
	object Object
	folder *listing
	store  Objects
}

func (t *storeTask) ID() tasks.ID { return StoreTaskID(t.object.Key) }

func (t *storeTask) Deps() []tasks.Task { return nil }

func (t *storeTask) Observe(ctx context.Context) (tasks.Change, error) {
	size, found, err := t.folder.size(ctx, t.object.Key)
	if err != nil {
		return tasks.Change{}, err
	}
	digest := tasks.Field{Path: "sha256", New: tasks.V(nodeconfig.Digest(t.object.Content))}
	want := int64(len(t.object.Content))
	switch {
	case !found:
		return tasks.Change{Action: tasks.Create, Fields: []tasks.Field{digest}}, nil
	case size != want:
		return tasks.Change{
			Action: tasks.Update,
			Fields: []tasks.Field{{Path: "size", Old: tasks.V(size), New: tasks.V(want)}},
			Reason: "the object is not whole",
			Exact:  fmt.Sprint(size),
		}, nil
	}
	return tasks.Change{Action: tasks.None, Exact: fmt.Sprint(size)}, nil
}

func (t *storeTask) Apply(ctx context.Context, c tasks.Change) error {
	if !c.Action.Pending() {
		return nil
	}
	if err := t.store.Put(ctx, t.object.Key, t.object.Content); err != nil {
		return classed(fmt.Errorf("write store object %s: %w", t.object.Key, err))
	}
	return nil
}

// listing is what a folder holds, read once by whichever task is observed first. A
// failure is not kept, so that a retry reads again.
type listing struct {
	store  Objects
	prefix string

	mu    sync.Mutex
	sizes map[string]int64
}

func (l *listing) size(ctx context.Context, key string) (int64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sizes == nil {
		sizes, err := l.store.List(ctx, l.prefix)
		if err != nil {
			return 0, false, classed(fmt.Errorf("list store objects below %s: %w", l.prefix, err))
		}
		if sizes == nil {
			sizes = map[string]int64{}
		}
		l.sizes = sizes
	}
	size, found := l.sizes[key]
	return size, found, nil
}

// classed tells the engine which failures of the store pass by themselves.
func classed(err error) error {
	if errors.Is(err, driver.ErrUnavailable) {
		return tasks.Retry(err)
	}
	return err
}
