// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// owned is one object in the cloud that carries our UID.
type owned[T any] struct {
	ID    string            // the cloud's own id
	Key   string            // its slipway.dev/id tag: unique within the kind, stable
	Tags  map[string]string // all of them, those of others too
	Value T                 // as the SDK gave it
}

// inventory is everything of one kind that the cluster owns. It is read with one paged
// list, at the first question of a plan, and knows which objects a wanted task claimed.
type inventory[T any] struct {
	kind  string
	list  func(ctx context.Context) ([]owned[T], error)
	inUse func(T) bool // of several objects of one key, says which ones others hang on; or nil

	mu       sync.Mutex
	loaded   bool
	objects  []owned[T] // ordered by key, those in use first, then id
	claimed  map[string]bool
	replaced map[string]bool // ids whose place a new object takes in this plan
	tried    map[string]bool // keys whose creation was begun
	looks    map[string]int  // keys whose creation got no answer: how often to look for it yet
}

func newInventory[T any](kind string, list func(ctx context.Context) ([]owned[T], error)) *inventory[T] {
	return &inventory[T]{
		kind: kind, list: list,
		claimed: map[string]bool{}, replaced: map[string]bool{}, tried: map[string]bool{}, looks: map[string]int{},
	}
}

// preferring says which of several objects of one key is the one to keep.
func (i *inventory[T]) preferring(inUse func(T) bool) *inventory[T] {
	i.inUse = inUse
	return i
}

// load reads the list once. A failed list is read again at the next question.
func (i *inventory[T]) load(ctx context.Context) error {
	if i.loaded {
		return nil
	}
	objects, err := i.read(ctx)
	if err != nil {
		return err
	}
	i.objects, i.loaded = objects, true
	return nil
}

func (i *inventory[T]) read(ctx context.Context) ([]owned[T], error) {
	objects, err := i.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list every %s of the cluster: %w", i.kind, err)
	}
	slices.SortFunc(objects, func(a, b owned[T]) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(i.idle(a), i.idle(b)), strings.Compare(a.ID, b.ID))
	})
	return objects, nil
}

// idle is 0 for an object that others hang on, otherwise 1.
func (i *inventory[T]) idle(o owned[T]) int {
	if i.inUse != nil && i.inUse(o.Value) {
		return 0
	}
	return 1
}

// find returns the object of a key. Of several, left by an answer that was lost or by
// tags that were changed by hand, it is always the same one, of those in use.
func (i *inventory[T]) find(ctx context.Context, key string) (owned[T], bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return owned[T]{}, false, err
	}
	o, ok := pick(i.objects, key)
	return o, ok, nil
}

func pick[T any](objects []owned[T], key string) (owned[T], bool) {
	for _, o := range objects {
		if o.Key == key {
			return o, true
		}
	}
	return owned[T]{}, false
}

// claim says that a wanted task stands for the object: it will not be removed.
func (i *inventory[T]) claim(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.claimed[id] = true
}

// isClaimed reports whether a wanted task stands for it.
func (i *inventory[T]) isClaimed(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.claimed[id]
}

// replace says that a wanted task puts a new object in the place of this one, which is
// then removed.
func (i *inventory[T]) replace(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.replaced[id] = true
}

// all returns every object of the kind.
func (i *inventory[T]) all(ctx context.Context) ([]owned[T], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(i.objects), nil
}

// unseenLooks is how often a creation that got no answer is looked for before it is made
// again: with the engine's pauses some seconds, as long as lists may be behind.
const unseenLooks = 5

// makeOnce runs a creation. When an earlier attempt was begun and its answer lost, it
// first looks whether that attempt made the object, so that there is never a second.
func (i *inventory[T]) makeOnce(ctx context.Context, key string, create func(ctx context.Context) (id string, err error)) (string, error) {
	i.mu.Lock()
	again, looks := i.tried[key], i.looks[key]
	i.tried[key], i.looks[key] = true, max(looks-1, 0)
	i.mu.Unlock()
	if again {
		objects, err := i.read(ctx)
		if err != nil {
			return "", err
		}
		if o, ok := pick(objects, key); ok {
			return o.ID, nil
		}
		if looks > 0 {
			return "", tasks.Retry(fmt.Errorf("the answer to its creation was lost, and lists do not show it (yet)"))
		}
	}
	id, err := create(ctx)
	switch {
	case unanswered(err) && !again:
		i.mu.Lock()
		i.looks[key] = unseenLooks
		i.mu.Unlock()
	case again && taken(codeOf(err)):
		err = tasks.Retry(err) // by an object of ours, that lists do not show yet
	}
	return id, err
}

// unanswered reports whether a call may have done its work all the same.
func unanswered(err error) bool {
	code := codeOf(err)
	return err != nil && !slices.Contains(throttledCodes, code) && (code == "" && network(err) || statusOf(err) >= http.StatusInternalServerError)
}

// taken reports whether a code says that a name or place is in use.
func taken(code string) bool {
	return strings.Contains(code, "Already") || strings.Contains(code, "Duplicate") || code == "InvalidSubnet.Conflict"
}

// leftover is an owned object that no wanted task claimed.
type leftover struct {
	Key, ID string
	Reason  string // why, where it is not just "no longer wanted"
	Leaves  string // what stays of it
	Value   any    // as the SDK gave it
}

// leftovers returns what no task claimed, with the reason where the key is still wanted.
func (i *inventory[T]) leftovers(ctx context.Context) ([]leftover, error) {
	objects, err := i.all(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := map[string]string{}
	for _, o := range objects {
		if i.claimed[o.ID] {
			kept[o.Key] = o.ID
		}
	}
	var out []leftover
	for _, o := range objects {
		if i.claimed[o.ID] {
			continue
		}
		l := leftover{Key: o.Key, ID: o.ID, Value: o.Value}
		if first, twice := kept[o.Key]; twice {
			l.Reason = "a second object of the same purpose as " + first
		}
		if strings.HasSuffix(o.Key, retired) || i.replaced[o.ID] {
			l.Reason = "a new object takes its place"
		}
		out = append(out, l)
	}
	return out, nil
}

// pages reads a paginated answer to its end.
func pages[O, F any](ctx context.Context, p interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*F)) (*O, error)
}, take func(*O)) error {
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		take(out)
	}
	return nil
}

// ownedEC2 turns an EC2 object into an owned one, or reports that it is not ours: not
// every endpoint honours every filter.
func ownedEC2[T any](s *survey, id *string, tags []ec2types.Tag, v T) (owned[T], bool) {
	m := tagMap(tags)
	return owned[T]{ID: aws.ToString(id), Key: m[tagKey], Tags: m, Value: v}, m[tagUID] == s.uid
}

// mine is the filter of everything that carries our UID.
func (s *survey) mine() []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("tag:" + tagUID), Values: []string{s.uid}}}
}

// exactly returns a digest of all that was observed of an object. Lists count as sets:
// AWS does not keep their order.
func exactly(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	var tree any
	if json.Unmarshal(b, &tree) == nil {
		b, _ = json.Marshal(ordered(tree))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func ordered(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			t[k] = ordered(e)
		}
	case []any:
		texts := make([]string, len(t))
		for i, e := range t {
			b, _ := json.Marshal(ordered(e))
			texts[i] = string(b)
		}
		slices.Sort(texts)
		return texts
	}
	return v
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
