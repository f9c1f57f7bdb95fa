// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// keptVersions is how many versions of a template stay, besides those that machines run.
const keptVersions = 10

// LaunchTemplate is what the machines of a group are made from. A change makes a new
// version of the same template.
type LaunchTemplate struct {
	resource
	name     string
	pool     model.Pool
	want     launchData // but for what is looked up or known only after apply
	groups   []*SecurityGroup
	given    []string
	balancer *LoadBalancer   // that machines find the bootstrap server by; nil: not needed
	trust    model.TrustTask // that tells whom machines trust; nil: nobody is told

	// Version is the number of the version that is wanted.
	Version tasks.Output[int64]
}

// templateFacts is a launch template with its latest version.
type templateFacts struct {
	Template ec2types.LaunchTemplate
	Latest   ec2types.LaunchTemplateVersion
}

// Describe says for which machines it is.
func (t *LaunchTemplate) Describe() string {
	return fmt.Sprintf("%s machines of type %s", t.pool.Role, t.pool.Machine)
}

// complete returns the wanted content with what is looked up and known by now.
func (t *LaunchTemplate) complete(ctx context.Context) (launchData, error) {
	want := t.want
	images, err := t.s.catalogue.imageRefs(ctx, t.s.imageRefs)
	if err != nil {
		return want, err
	}
	image := images[t.pool.Image]
	if image == nil {
		return want, fmt.Errorf("group %s: there is no image %s in %s: correct the group's spec.image", t.pool.Name, t.pool.Image, t.s.region)
	}
	want.Image, want.RootDevice = aws.ToString(image.ImageId), aws.ToString(image.RootDeviceName)
	want.Groups = groupIDs(t.groups, t.given)
	plain, known, err := t.userData(ctx)
	if err != nil {
		return want, err
	}
	if len(plain) > maxUserData {
		return want, tooMuchUserData(t.pool, len(plain))
	}
	want.UserData = tasks.After()
	if known {
		want.userData = base64.StdEncoding.EncodeToString(plain)
		want.UserData = digestOf(want.userData)
	}
	return want, nil
}

// sizeOfCA is more than a bundle of two authorities takes.
const sizeOfCA = 2048

// userData renders the user data. While the load balancer's addresses or the authority
// are not known, it is rendered with ones of the longest kind, for its size.
func (t *LaunchTemplate) userData(ctx context.Context) (plain []byte, known bool, err error) {
	var bootstrap []string
	ca, known := t.authority()
	if t.balancer != nil {
		if _, there := t.balancer.CloudID.Get(); there {
			if bootstrap, err = t.balancer.reach(ctx); err != nil {
				return nil, false, err
			}
		} else {
			known, bootstrap = false, slices.Repeat([]string{strings.Repeat("x", 80)}, len(t.balancer.subnets))
		}
		bootstrap = slices.Clone(bootstrap) // the load balancer keeps its own
		for i, host := range bootstrap {
			bootstrap[i] = net.JoinHostPort(host, strconv.Itoa(model.PortBootstrap))
		}
	}
	plain, err = model.UserData(t.pool, model.Late{Bootstrap: bootstrap, CA: ca})
	return plain, known, err
}

// authority returns the bundle that machines trust, or one of its size while the first
// apply has not made it.
func (t *LaunchTemplate) authority() (ca string, known bool) {
	if t.trust == nil || t.pool.Pointer == nil {
		return "", true
	}
	if ca, known = t.trust.TrustBundle().Get(); !known {
		ca = strings.Repeat("x", sizeOfCA)
	}
	return ca, known
}

func tooMuchUserData(p model.Pool, size int) error {
	var parts []string
	for _, s := range model.UserDataSizes(p) {
		parts = append(parts, fmt.Sprintf("%s %d", s.Name, s.Bytes))
	}
	return fmt.Errorf("the user data of group %s takes %d bytes, AWS allows %d; the parts: %s: make spec.additionalUserData smaller, or have it fetch the rest",
		p.Name, size, maxUserData, strings.Join(parts[:min(5, len(parts))], ", "))
}

// digestOf shows a long text as a digest.
func digestOf(text string) tasks.Value {
	if text == "" {
		return tasks.Value{}
	}
	sum := sha256.Sum256([]byte(text))
	return tasks.V("sha256:" + hex.EncodeToString(sum[:8]))
}

// Observe compares the wanted content with the latest version, and which version is the
// default.
func (t *LaunchTemplate) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := t.s.templates.find(ctx, t.key)
	if err != nil {
		return tasks.Change{}, err
	}
	want, err := t.complete(ctx)
	if err != nil {
		return tasks.Change{}, err
	}
	content := tasks.NewDiff(exists)
	want.diff(content, launchDataOf(o.Value.Latest.LaunchTemplateData))
	d := tasks.NewDiff(exists)
	want.diff(d, launchDataOf(o.Value.Latest.LaunchTemplateData))
	latest := aws.ToInt64(o.Value.Latest.VersionNumber)
	newVersion := content.Change(nil).Action != tasks.None
	if exists && !newVersion {
		d.Field("defaultVersion", aws.ToInt64(o.Value.Template.DefaultVersionNumber), latest)
	}
	diffTags(d, o.Tags, t.tags)
	c := found(&t.resource, t.s.templates, o, exists, d)
	if newVersion {
		t.Version.Clear()
	} else {
		t.Version.Set(latest)
	}
	return c, nil
}

// Apply makes the template or a new version, and makes it the default.
func (t *LaunchTemplate) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[templateFacts])
	want, err := t.complete(ctx)
	if err != nil {
		return err
	}
	if want.UserData.State == tasks.Unknown || want.Groups.State == tasks.Unknown {
		return errors.New("a dependency has not said what the template needs")
	}
	if c.Action == tasks.Create {
		id, err := t.s.templates.makeOnce(ctx, t.key, func(ctx context.Context) (string, error) { return t.create(ctx, want) })
		if err != nil {
			return fmt.Errorf("create launch template %s: %w", t.name, err)
		}
		t.CloudID.Set(id)
		t.Version.Set(1)
		return nil
	}
	if _, known := t.Version.Get(); !known {
		number, err := t.addVersion(ctx, o, want)
		if err != nil {
			return err
		}
		t.Version.Set(number)
		c.Fields = append(c.Fields, tasks.Field{Path: "defaultVersion"})
	}
	if c.Has("defaultVersion") {
		if err := t.setDefault(ctx, o.ID); err != nil {
			return err
		}
	}
	return t.s.applyTags(ctx, o.ID, c)
}

func (t *LaunchTemplate) create(ctx context.Context, want launchData) (string, error) {
	out, err := t.s.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &t.name, LaunchTemplateData: want.request(),
		ClientToken:       aws.String(t.s.token(&t.resource)),
		TagSpecifications: tagSpec(ec2types.ResourceTypeLaunchTemplate, t.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.LaunchTemplate.LaunchTemplateId), nil
}

func (t *LaunchTemplate) addVersion(ctx context.Context, o owned[templateFacts], want launchData) (int64, error) {
	out, err := t.s.ec2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &o.ID, LaunchTemplateData: want.request(), ClientToken: aws.String(t.s.token(&t.resource)),
	})
	if err != nil {
		return 0, fmt.Errorf("add a version to launch template %s: %w", t.name, err)
	}
	return aws.ToInt64(out.LaunchTemplateVersion.VersionNumber), nil
}

func (t *LaunchTemplate) setDefault(ctx context.Context, id string) error {
	number := strconv.FormatInt(t.Version.Value(), 10)
	if _, err := t.s.ec2.ModifyLaunchTemplate(ctx, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, DefaultVersion: &number}); err != nil {
		return fmt.Errorf("make version %s of launch template %s the default: %w", number, t.name, err)
	}
	return t.prune(ctx, id)
}

// prune deletes versions beyond the last few that no machine runs: AWS keeps 10,000 of a
// template. A failure only leaves them there, so it is logged.
func (t *LaunchTemplate) prune(ctx context.Context, id string) error {
	last := t.Version.Value() - keptVersions
	if last < 1 {
		return nil
	}
	used, err := t.s.versionsInUse(ctx, id)
	if err != nil {
		return err
	}
	var old []string
	err = pages(ctx, ec2.NewDescribeLaunchTemplateVersionsPaginator(t.s.ec2, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &id, MaxVersion: aws.String(strconv.FormatInt(last, 10)),
	}), func(page *ec2.DescribeLaunchTemplateVersionsOutput) {
		for _, v := range page.LaunchTemplateVersions {
			if n := strconv.FormatInt(aws.ToInt64(v.VersionNumber), 10); !aws.ToBool(v.DefaultVersion) && !used[n] {
				old = append(old, n)
			}
		}
	})
	if err == nil && len(old) > 0 {
		_, err = t.s.ec2.DeleteLaunchTemplateVersions(ctx, &ec2.DeleteLaunchTemplateVersionsInput{
			LaunchTemplateId: &id, Versions: old[:min(len(old), maxNamesPerFilter)],
		})
	}
	if err != nil {
		t.s.log.Warn("old versions of a launch template stay", "template", t.name, "error", err)
	}
	return nil
}

// listTemplates reads the cluster's launch templates and the latest version of each: two
// lists, however many groups there are. AWS shows the latest versions of the whole
// account; what such a list leaves out is read by itself.
func (s *survey) listTemplates(ctx context.Context) ([]owned[templateFacts], error) {
	const most = 200
	var out []owned[templateFacts]
	err := pages(ctx, ec2.NewDescribeLaunchTemplatesPaginator(s.ec2, &ec2.DescribeLaunchTemplatesInput{
		Filters: s.mine(), MaxResults: aws.Int32(most),
	}), func(page *ec2.DescribeLaunchTemplatesOutput) {
		for _, t := range page.LaunchTemplates {
			if o, ours := ownedEC2(s, t.LaunchTemplateId, t.Tags, templateFacts{Template: t}); ours {
				out = append(out, o)
			}
		}
	})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	latest := map[string]ec2types.LaunchTemplateVersion{}
	take := func(page *ec2.DescribeLaunchTemplateVersionsOutput) {
		for _, v := range page.LaunchTemplateVersions {
			latest[aws.ToString(v.LaunchTemplateId)] = v
		}
	}
	if err := pages(ctx, ec2.NewDescribeLaunchTemplateVersionsPaginator(s.ec2, &ec2.DescribeLaunchTemplateVersionsInput{
		Versions: []string{"$Latest"}, MaxResults: aws.Int32(most),
	}), take); err != nil {
		return nil, err
	}
	for i := range out {
		if _, shown := latest[out[i].ID]; !shown {
			if err := pages(ctx, ec2.NewDescribeLaunchTemplateVersionsPaginator(s.ec2, &ec2.DescribeLaunchTemplateVersionsInput{
				LaunchTemplateId: &out[i].ID, Versions: []string{"$Latest"},
			}), take); err != nil {
				return nil, err
			}
		}
		out[i].Value.Latest = latest[out[i].ID]
	}
	return out, nil
}

func (s *survey) removeTemplate(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &l.ID})
	return ifThere(err)
}

// templateName is the name of a group's launch template.
func (c *Cloud) templateName(pool string) string {
	return cloudup.Shorten(pool+"."+c.cluster, limitTemplate)
}
