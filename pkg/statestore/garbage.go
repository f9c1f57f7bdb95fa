// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Stored is what a listing says of an object or of a run's journal.
type Stored struct {
	Name     string    // the object's key relative to the cluster, or the run
	Parts    int       // objects: 1, or the segments of the journal
	Size     int64     // bytes of all of them
	Modified time.Time // of the newest, by the server's clock
}

// Stored lists the objects whose keys begin with prefix, such as "nodes/", in byte order.
func (o ObjectStore) Stored(ctx context.Context, prefix string) ([]Stored, error) {
	if _, err := o.key(prefix + "x"); err != nil {
		return nil, err
	}
	var out []Stored
	err := o.s.pages(ctx, o.cluster+"/"+prefix, false, func(p driver.Page) {
		for _, i := range p.Objects {
			out = append(out, Stored{Name: strings.TrimPrefix(i.Key, o.cluster+"/"), Parts: 1, Size: i.Size, Modified: i.Modified})
		}
	})
	return out, err
}

// StoredJournals lists the journals of a cluster, oldest first, without reading them.
func (s *Store) StoredJournals(ctx context.Context, cluster string) ([]Stored, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	var out []Stored
	err := s.pages(ctx, cluster+"/journal/", false, func(p driver.Page) {
		for _, i := range p.Objects {
			run := path.Base(path.Dir(i.Key))
			if len(out) == 0 || out[len(out)-1].Name != run {
				out = append(out, Stored{Name: run})
			}
			last := &out[len(out)-1]
			last.Parts++
			last.Size += i.Size
			if i.Modified.After(last.Modified) {
				last.Modified = i.Modified
			}
		}
	})
	return out, err
}
