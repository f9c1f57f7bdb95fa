// SPDX-License-Identifier: Apache-2.0

package route53_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsr53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/route53"
)

type networks struct{}

func (networks) HasVPC(_, id string) bool { return strings.HasPrefix(id, "vpc-") }

func serve(t *testing.T, dir string) (*awsr53.Client, *awstest.Server) {
	t.Helper()
	s := awstest.Serve(t, dir, func(c *simaws.Cloud) error {
		service, err := route53.New(c.World, networks{}, route53.Options{})
		c.Register(service)
		return err
	})
	return awsr53.New(awsr53.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")}), s
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, err error, code string, texts ...string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("got error %v, want code %s", err, code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

func makeZone(t *testing.T, c *awsr53.Client, name, vpc string) *awsr53.CreateHostedZoneOutput {
	t.Helper()
	in := &awsr53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(name + vpc + fmt.Sprint(time.Now().UnixNano()))}
	if vpc != "" {
		in.VPC = &types.VPC{VPCId: &vpc, VPCRegion: types.VPCRegionEuWest1}
	}
	return must[*awsr53.CreateHostedZoneOutput](t)(c.CreateHostedZone(t.Context(), in))
}

func change(action types.ChangeAction, name string, kind types.RRType, values ...string) types.Change {
	set := &types.ResourceRecordSet{Name: &name, Type: kind, TTL: aws.Int64(60)}
	for _, v := range values {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: aws.String(v)})
	}
	return types.Change{Action: action, ResourceRecordSet: set}
}

func submit(t *testing.T, c *awsr53.Client, zone *string, changes ...types.Change) (*awsr53.ChangeResourceRecordSetsOutput, error) {
	t.Helper()
	return c.ChangeResourceRecordSets(t.Context(), &awsr53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: &types.ChangeBatch{Changes: changes}})
}

func names(t *testing.T, c *awsr53.Client, zone *string, size int32) (list []string, pages int) {
	t.Helper()
	p := awsr53.NewListResourceRecordSetsPaginator(c, &awsr53.ListResourceRecordSetsInput{HostedZoneId: zone, MaxItems: &size})
	for p.HasMorePages() {
		out := must[*awsr53.ListResourceRecordSetsOutput](t)(p.NextPage(t.Context()))
		pages++
		for _, r := range out.ResourceRecordSets {
			list = append(list, *r.Name+" "+string(r.Type))
		}
	}
	return list, pages
}

const (
	create = types.ChangeActionCreate
	upsert = types.ChangeActionUpsert
	remove = types.ChangeActionDelete
)

func TestZoneLife(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	c, s := serve(t, dir)
	in := &awsr53.CreateHostedZoneInput{Name: aws.String("Example.com"), CallerReference: aws.String("once")}
	z := must[*awsr53.CreateHostedZoneOutput](t)(c.CreateHostedZone(ctx, in))
	if *z.HostedZone.Name != "example.com." || len(z.DelegationSet.NameServers) != 4 || z.HostedZone.Config.PrivateZone {
		t.Errorf("zone %+v", z.HostedZone)
	}
	_, err := c.CreateHostedZone(ctx, in)
	wantCode(t, err, "HostedZoneAlreadyExists")
	private := makeZone(t, c, "example.com", "vpc-1")
	if !private.HostedZone.Config.PrivateZone {
		t.Error("a zone made with a VPC must be private")
	}
	_, err = c.CreateHostedZone(ctx, &awsr53.CreateHostedZoneInput{Name: aws.String("x.com"), CallerReference: aws.String("x"), VPC: &types.VPC{VPCId: aws.String("nope"), VPCRegion: "eu-west-1"}})
	wantCode(t, err, "InvalidVPCId")
	_, err = c.AssociateVPCWithHostedZone(ctx, &awsr53.AssociateVPCWithHostedZoneInput{HostedZoneId: z.HostedZone.Id, VPC: private.VPC})
	wantCode(t, err, "PublicZoneVPCAssociation")
	_, err = c.DisassociateVPCFromHostedZone(ctx, &awsr53.DisassociateVPCFromHostedZoneInput{HostedZoneId: private.HostedZone.Id, VPC: private.VPC})
	wantCode(t, err, "LastVPCAssociation")
	second := &types.VPC{VPCId: aws.String("vpc-2"), VPCRegion: "eu-west-1"}
	must[*awsr53.AssociateVPCWithHostedZoneOutput](t)(c.AssociateVPCWithHostedZone(ctx, &awsr53.AssociateVPCWithHostedZoneInput{HostedZoneId: private.HostedZone.Id, VPC: second}))
	byVPC := must[*awsr53.ListHostedZonesByVPCOutput](t)(c.ListHostedZonesByVPC(ctx, &awsr53.ListHostedZonesByVPCInput{VPCId: second.VPCId, VPCRegion: second.VPCRegion}))
	if len(byVPC.HostedZoneSummaries) != 1 {
		t.Errorf("by VPC: %+v", byVPC.HostedZoneSummaries)
	}
	must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z.HostedZone.Id, change(create, "a.example.com", "A", "192.0.2.1")))
	_, err = c.DeleteHostedZone(ctx, &awsr53.DeleteHostedZoneInput{Id: z.HostedZone.Id})
	wantCode(t, err, "HostedZoneNotEmpty")

	s.Stop()
	c, _ = serve(t, dir)
	got := must[*awsr53.GetHostedZoneOutput](t)(c.GetHostedZone(ctx, &awsr53.GetHostedZoneInput{Id: private.HostedZone.Id}))
	if len(got.VPCs) != 2 || got.DelegationSet != nil || *got.HostedZone.ResourceRecordSetCount != 2 {
		t.Errorf("private zone %+v", got)
	}
	byName := must[*awsr53.ListHostedZonesByNameOutput](t)(c.ListHostedZonesByName(ctx, &awsr53.ListHostedZonesByNameInput{DNSName: aws.String("example.com")}))
	if len(byName.HostedZones) != 2 {
		t.Errorf("by name: %+v", byName.HostedZones)
	}
	must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z.HostedZone.Id, change(remove, "a.example.com", "A", "192.0.2.1")))
	must[*awsr53.DeleteHostedZoneOutput](t)(c.DeleteHostedZone(ctx, &awsr53.DeleteHostedZoneInput{Id: z.HostedZone.Id}))
	_, err = c.GetHostedZone(ctx, &awsr53.GetHostedZoneInput{Id: z.HostedZone.Id})
	wantCode(t, err, "NoSuchHostedZone")
}

func TestChangesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	c, s := serve(t, t.TempDir())
	z := makeZone(t, c, "example.com", "").HostedZone.Id
	out := must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z, change(create, "a.example.com", "A", "192.0.2.1"), change(create, "*.example.com", "TXT", `"x y"`)))
	status := func() types.ChangeStatus {
		return must[*awsr53.GetChangeOutput](t)(c.GetChange(t.Context(), &awsr53.GetChangeInput{Id: out.ChangeInfo.Id})).ChangeInfo.Status
	}
	if out.ChangeInfo.Status != types.ChangeStatusPending || status() != types.ChangeStatusPending {
		t.Error("a new change must be pending")
	}
	s.Clock.Advance(time.Second)
	if status() != types.ChangeStatusInsync {
		t.Error("an old change must be in sync")
	}
	_, err := submit(t, c, z, change(create, "b.example.com", "A", "192.0.2.2"), change(create, "a.example.com", "A", "192.0.2.9"))
	wantCode(t, err, "InvalidChangeBatch", "Tried to create resource record set [name='a.example.com.', type='A'] but it already exists")
	list, _ := names(t, c, z, 100)
	want := []string{"example.com. NS", "example.com. SOA", `\052.example.com. TXT`, "a.example.com. A"}
	if !slices.Equal(list, want) {
		t.Errorf("records %q, want %q", list, want)
	}
}

func TestChangeRefusals(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, t.TempDir())
	z := makeZone(t, c, "example.com", "").HostedZone.Id
	must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z, change(create, "a.example.com", "A", "192.0.2.1", "192.0.2.2")))
	alias := func(zone, name string) types.Change {
		return types.Change{Action: create, ResourceRecordSet: &types.ResourceRecordSet{Name: aws.String("api.example.com"), Type: "A",
			AliasTarget: &types.AliasTarget{HostedZoneId: &zone, DNSName: &name}}}
	}
	for _, tc := range []struct {
		text string
		ch   types.Change
	}{
		{"but it was not found", change(remove, "none.example.com", "A", "192.0.2.1")},
		{"do not match the current values", change(remove, "a.example.com", "A", "192.0.2.1")},
		{"is not permitted at apex", change(create, "example.com", "CNAME", "x.example.org")},
		{"conflicts with other records", change(create, "a.example.com", "CNAME", "x.example.org")},
		{"is not permitted in zone", change(create, "a.example.org", "A", "192.0.2.1")},
		{"not a valid IPv4 address", change(create, "b.example.com", "A", "192.0.2")},
		{"not a valid IPv6 address", change(create, "b.example.com", "AAAA", "192.0.2.1")},
		{"enclosed in quotation marks", change(create, "b.example.com", "TXT", "bare")},
		{"Duplicate Resource Record", change(create, "b.example.com", "A", "192.0.2.1", "192.0.2.1")},
		{"that target was not found", alias(strings.TrimPrefix(*z, "/hostedzone/"), "none.example.com")},
		{"does not lie within the target zone", alias("Z26RNL4JYFTOTI", "x.elb.eu-west-1.amazonaws.com")},
	} {
		_, err := submit(t, c, z, tc.ch)
		wantCode(t, err, "InvalidChangeBatch", tc.text)
	}
	_, err := submit(t, c, z, change(create, "b.example.com", "A"))
	wantCode(t, err, "InvalidInput")
	must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z, change(remove, "a.example.com", "A", "192.0.2.2", "192.0.2.1"), alias("Z26RNL4JYFTOTI", "x.elb.us-east-1.amazonaws.com")))
	apex := must[*awsr53.ListResourceRecordSetsOutput](t)(c.ListResourceRecordSets(t.Context(), &awsr53.ListResourceRecordSetsInput{HostedZoneId: z, MaxItems: aws.Int32(1)}))
	_, err = submit(t, c, z, types.Change{Action: remove, ResourceRecordSet: &apex.ResourceRecordSets[0]})
	wantCode(t, err, "InvalidChangeBatch", "must contain at least one NS record")
	var many []types.Change
	for i := range 501 {
		many = append(many, change(upsert, fmt.Sprintf("n%d.example.com", i), "A", "192.0.2.1"))
	}
	_, err = submit(t, c, z, many...)
	wantCode(t, err, "InvalidChangeBatch", "limit of 1000")
	must[*awsr53.ChangeResourceRecordSetsOutput](t)(submit(t, c, z, many[:500]...))
	list, pages := names(t, c, z, 300)
	if len(list) != 503 || pages != 2 {
		t.Errorf("%d records in %d pages", len(list), pages)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, t.TempDir())
	ctx := t.Context()
	id := aws.String(strings.TrimPrefix(*makeZone(t, c, "example.com", "").HostedZone.Id, "/hostedzone/"))
	must[*awsr53.ChangeTagsForResourceOutput](t)(c.ChangeTagsForResource(ctx, &awsr53.ChangeTagsForResourceInput{ResourceId: id, ResourceType: "hostedzone",
		AddTags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
	must[*awsr53.ChangeTagsForResourceOutput](t)(c.ChangeTagsForResource(ctx, &awsr53.ChangeTagsForResourceInput{ResourceId: id, ResourceType: "hostedzone", RemoveTagKeys: []string{"a"}}))
	out := must[*awsr53.ListTagsForResourcesOutput](t)(c.ListTagsForResources(ctx, &awsr53.ListTagsForResourcesInput{ResourceIds: []string{*id}, ResourceType: "hostedzone"}))
	if len(out.ResourceTagSets) != 1 || len(out.ResourceTagSets[0].Tags) != 1 {
		t.Errorf("tags %+v", out.ResourceTagSets)
	}
	_, err := c.ListTagsForResource(ctx, &awsr53.ListTagsForResourceInput{ResourceId: aws.String("Z0"), ResourceType: "hostedzone"})
	wantCode(t, err, "NoSuchHostedZone")
}
