// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// references says why store objects are used, by their marks.
type references map[string]string

// digest is how content is named in keys and texts.
var digest = regexp.MustCompile(`[0-9a-f]{16,}`)

// mark is what a reference to an object holds: the digest in its key, which the files of
// one add-on share, or the key itself. A text that holds it by chance keeps an object too
// many, never one too few.
func mark(key string) string {
	longest := ""
	for _, text := range digest.FindAllString(key, -1) {
		if len(text) > len(longest) {
			longest = text
		}
	}
	if longest == "" {
		return key
	}
	return longest
}

// add notes that keys are used.
func (r references) add(why string, keys ...string) {
	for _, k := range keys {
		if _, known := r[mark(k)]; !known {
			r[mark(k)] = why
		}
	}
}

// findObjects notes the content-addressed objects of the store: those that something
// references stay.
func (d Deps) findObjects(ctx context.Context, c *Loaded, cloud cloudup.Cloud, g *garbage) error {
	name := c.Cluster.Metadata.Name
	objects := d.Store.Objects(name)
	var all []statestore.Stored
	for _, folder := range folders {
		some, err := objects.Stored(ctx, folder)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	refs := references{}
	if err := d.wantedObjects(ctx, c, refs); err != nil {
		return err
	}
	used, err := inUse(ctx, cloud)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.untold = err
	refs.add("a machine or launch template names it", used...)
	if err := follow(ctx, objects, all, refs); err != nil {
		return err
	}
	for _, s := range all {
		id := model.StoreTaskID(s.Name)
		why, referenced := refs[mark(s.Name)]
		switch {
		case referenced:
			err = g.stays(id, s, why)
		case g.untold != nil:
			err = g.stays(id, s, "it cannot be told whether a machine uses it")
		default:
			err = g.goes(id, s, "no revision in use and no machine names it", func(ctx context.Context) error {
				return objects.Delete(ctx, s.Name)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wantedObjects adds what the newest and the applied revision want.
func (d Deps) wantedObjects(ctx context.Context, c *Loaded, refs references) error {
	applied, err := d.appliedManifest(ctx, c.Cluster.Metadata.Name)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		why      string
		manifest *api.Manifest
	}{{"the newest revision wants it", c.Manifest}, {"the applied revision wants it", applied}} {
		if r.manifest == nil {
			continue
		}
		b, err := model.Build(r.manifest, model.Options{Store: d.Store.URL()})
		if err != nil {
			return err
		}
		for _, o := range b.Objects {
			refs.add(r.why, o.Key)
		}
	}
	return nil
}

// inUse asks the cloud what machines were told to read.
func inUse(ctx context.Context, cloud cloudup.Cloud) ([]string, error) {
	referencer, ok := cloud.(cloudup.Referencer)
	if !ok {
		return nil, errors.New("this cloud does not say what its machines read")
	}
	return referencer.InUse(ctx)
}

// follow adds what objects that are used name in turn, such as the add-ons of a node
// config. Assets are programs and name nothing.
func follow(ctx context.Context, objects statestore.ObjectStore, all []statestore.Stored, refs references) error {
	known := map[string]bool{}
	for _, s := range all {
		known[mark(s.Name)] = true
	}
	read := map[string]bool{}
	for {
		var next []string
		for _, s := range all {
			if _, used := refs[mark(s.Name)]; used && !read[s.Name] && !strings.HasPrefix(s.Name, "assets/") {
				next = append(next, s.Name)
				read[s.Name] = true
			}
		}
		if len(next) == 0 {
			return nil
		}
		texts, err := readAll(ctx, objects, next)
		if err != nil {
			return err
		}
		for i, text := range texts {
			for m := range known {
				if _, used := refs[m]; !used && !digest.MatchString(m) && strings.Contains(text, m) {
					refs[m] = next[i] + " names it"
				}
			}
			for _, m := range digest.FindAllString(text, -1) {
				if _, used := refs[m]; !used && known[m] {
					refs[m] = next[i] + " names it"
				}
			}
		}
	}
}

// readers is how many objects are read at a time.
const readers = 16

// readAll reads objects; one that is gone meanwhile names nothing.
func readAll(ctx context.Context, objects statestore.ObjectStore, keys []string) ([]string, error) {
	texts := make([]string, len(keys))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, key := range keys {
		g.Go(func() error {
			data, err := objects.Get(gctx, key)
			if err != nil && !errors.Is(err, statestore.ErrNotFound) {
				return fmt.Errorf("look what %s names: %w", key, err)
			}
			texts[i] = string(data)
			return nil
		})
	}
	return texts, g.Wait()
}
