// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// catalogue is what AWS offers: images and machine types. It is asked for all groups
// together and remembers the answers, so that checks and tasks share them.
type catalogue struct {
	ec2 *ec2.Client

	mu     sync.Mutex
	images map[string]*ec2types.Image            // by reference; nil: there is none
	types  map[string]*ec2types.InstanceTypeInfo // by name; nil: there is none
	zones  map[string]map[string]bool            // machine type -> zones that offer it
}

func newCatalogue(c *ec2.Client) *catalogue {
	return &catalogue{
		ec2: c, images: map[string]*ec2types.Image{},
		types: map[string]*ec2types.InstanceTypeInfo{}, zones: map[string]map[string]bool{},
	}
}

// lookUp fills a memory with the answers for what it does not hold yet.
func lookUp[T any](mu *sync.Mutex, memory map[string]T, keys []string, ask func(missing []string) error) (map[string]T, error) {
	mu.Lock()
	defer mu.Unlock()
	var missing []string
	for _, k := range keys {
		if _, known := memory[k]; !known && !slices.Contains(missing, k) {
			missing = append(missing, k)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		if err := ask(missing); err != nil {
			return nil, err
		}
	}
	out := map[string]T{}
	for _, k := range keys {
		out[k] = memory[k]
	}
	return out, nil
}

// imageRefs finds images by reference: "ami-..." or "<owner>/<name or pattern>", where
// the newest image wins. The result has nil for what is not there.
func (k *catalogue) imageRefs(ctx context.Context, refs []string) (map[string]*ec2types.Image, error) {
	return lookUp(&k.mu, k.images, refs, func(missing []string) error {
		byOwner := map[string][]string{}
		for _, r := range missing {
			k.images[r] = nil
			owner, _, named := strings.Cut(r, "/")
			if !named {
				owner = ""
			}
			byOwner[owner] = append(byOwner[owner], r)
		}
		for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
			if err := k.askImages(ctx, owner, byOwner[owner]); err != nil {
				for _, r := range missing {
					delete(k.images, r)
				}
				return err
			}
		}
		return nil
	})
}

// askImages finds the images of one owner, or those by id, with one list.
func (k *catalogue) askImages(ctx context.Context, owner string, refs []string) error {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = strings.TrimPrefix(r, owner+"/")
	}
	in := &ec2.DescribeImagesInput{}
	filter := "name"
	if owner == "" {
		filter = "image-id"
	} else {
		in.Owners = []string{owner}
	}
	in.Filters = []ec2types.Filter{
		{Name: &filter, Values: names}, {Name: aws.String("state"), Values: []string{"available"}},
	}
	err := pages(ctx, ec2.NewDescribeImagesPaginator(k.ec2, in), func(page *ec2.DescribeImagesOutput) {
		for i := range page.Images {
			k.rememberImage(&page.Images[i], refs, names, owner == "")
		}
	})
	if err != nil {
		return fmt.Errorf("look for the images %s: %w", strings.Join(refs, ", "), err)
	}
	return nil
}

func (k *catalogue) rememberImage(i *ec2types.Image, refs, names []string, byID bool) {
	for n, r := range refs {
		matches := glob(names[n], aws.ToString(i.Name))
		if byID {
			matches = r == aws.ToString(i.ImageId)
		}
		old := k.images[r]
		if matches && (old == nil || newer(i, old)) {
			k.images[r] = i
		}
	}
}

// newer orders images by date, and by id where the dates are equal.
func newer(a, b *ec2types.Image) bool {
	x, y := aws.ToString(a.CreationDate), aws.ToString(b.CreationDate)
	return x > y || x == y && aws.ToString(a.ImageId) > aws.ToString(b.ImageId)
}

// glob matches as EC2's filters do: "*" is any text, "?" one character.
func glob(pattern, text string) bool {
	for i := range len(pattern) {
		switch {
		case pattern[i] == '*':
			for j := 0; j <= len(text); j++ {
				if glob(pattern[i+1:], text[j:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[i] != '?' && pattern[i] != text[0]:
			return false
		}
		text = text[1:]
	}
	return text == ""
}

// machineTypes reads machine types. The result has nil for what does not exist.
func (k *catalogue) machineTypes(ctx context.Context, names []string) (map[string]*ec2types.InstanceTypeInfo, error) {
	return lookUp(&k.mu, k.types, names, func(missing []string) error {
		found := map[string]*ec2types.InstanceTypeInfo{}
		for some := range slices.Chunk(missing, maxNamesPerFilter) {
			err := pages(ctx, ec2.NewDescribeInstanceTypesPaginator(k.ec2, &ec2.DescribeInstanceTypesInput{
				Filters: []ec2types.Filter{{Name: aws.String("instance-type"), Values: some}},
			}), func(page *ec2.DescribeInstanceTypesOutput) {
				for i := range page.InstanceTypes {
					found[string(page.InstanceTypes[i].InstanceType)] = &page.InstanceTypes[i]
				}
			})
			if err != nil {
				return fmt.Errorf("look up machine types: %w", err)
			}
		}
		for _, n := range missing {
			k.types[n] = found[n]
		}
		return nil
	})
}

// offerings returns the zones that offer each machine type.
func (k *catalogue) offerings(ctx context.Context, names []string) (map[string]map[string]bool, error) {
	return lookUp(&k.mu, k.zones, names, func(missing []string) error {
		found := map[string]map[string]bool{}
		for _, n := range missing {
			found[n] = map[string]bool{}
		}
		for some := range slices.Chunk(missing, maxNamesPerFilter) {
			err := pages(ctx, ec2.NewDescribeInstanceTypeOfferingsPaginator(k.ec2, &ec2.DescribeInstanceTypeOfferingsInput{
				LocationType: ec2types.LocationTypeAvailabilityZone,
				Filters:      []ec2types.Filter{{Name: aws.String("instance-type"), Values: some}},
			}), func(page *ec2.DescribeInstanceTypeOfferingsOutput) {
				for _, o := range page.InstanceTypeOfferings {
					if zones := found[string(o.InstanceType)]; zones != nil {
						zones[aws.ToString(o.Location)] = true
					}
				}
			})
			if err != nil {
				return fmt.Errorf("look up where machine types are offered: %w", err)
			}
		}
		maps.Copy(k.zones, found)
		return nil
	})
}

// architectures returns the processor architectures of a machine type, as images name
// them: x86_64, arm64.
func architectures(t *ec2types.InstanceTypeInfo) []string {
	var out []string
	if t != nil && t.ProcessorInfo != nil {
		for _, a := range t.ProcessorInfo.SupportedArchitectures {
			if a == ec2types.ArchitectureTypeX8664 || a == ec2types.ArchitectureTypeArm64 {
				out = append(out, string(a))
			}
		}
	}
	return out
}
