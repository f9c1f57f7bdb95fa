// SPDX-License-Identifier: Apache-2.0

// Package aws makes a cluster's objects on Amazon Web Services: it lowers a blueprint
// to tasks, one file per resource. Only pkg/cloudup/all imports it.
//
// Objects are told apart by two tags, the cluster's UID and a key that is unique within
// its kind, never by a name. Each kind is read with one paged list per plan.
package aws

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Options is what Open needs to know. Region, Cluster and UID are required.
type Options struct {
	Region  string
	Cluster string // the cluster's name
	UID     string // the cluster's UID, the mark of everything that it owns

	// Endpoint is the URL of every service, for a simulator; AWS_ENDPOINT_URL and the
	// profile's own setting are honoured when it is empty.
	Endpoint string
	// Credentials replaces the SDK's chain (environment, profiles, SSO, roles).
	Credentials aws.CredentialsProvider

	Ledger     cloudup.Ledger   // where marks on shared objects are written down; nil: a dry run
	Logger     *slog.Logger     // nil: none
	Now        func() time.Time // nil: time.Now
	HTTPClient *http.Client     // nil: the SDK's
}

// Cloud is one account and region of AWS, bound to one cluster.
type Cloud struct {
	region, cluster, uid string

	ec2     *ec2.Client
	scaling *autoscaling.Client
	elb     *elb.Client
	iam     *iam.Client
	route53 *route53.Client
	sts     *sts.Client
	kms     *kms.Client

	ledger cloudup.Ledger
	log    *slog.Logger
	now    func() time.Time
	who    *caller

	catalogue *catalogue

	mu     sync.Mutex
	survey *survey // of the graph that was lowered last
}

var _ cloudup.Cloud = (*Cloud)(nil)

// Open makes the clients. It calls nothing: the first call is Whoami's.
func Open(ctx context.Context, o Options) (*Cloud, error) {
	if o.Region == "" || o.Cluster == "" || o.UID == "" {
		return nil, fmt.Errorf("open AWS: region %q, cluster %q and UID %q must all be given", o.Region, o.Cluster, o.UID)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	who := &caller{}
	cfg, err := session(ctx, o, who)
	if err != nil {
		return nil, fmt.Errorf("open AWS in %s: %w", o.Region, err)
	}
	c := &Cloud{
		region: o.Region, cluster: o.Cluster, uid: o.UID,
		ec2:     ec2.NewFromConfig(cfg),
		scaling: autoscaling.NewFromConfig(cfg),
		elb:     elb.NewFromConfig(cfg),
		iam:     iam.NewFromConfig(cfg),
		route53: route53.NewFromConfig(cfg),
		sts:     sts.NewFromConfig(cfg),
		kms:     kms.NewFromConfig(cfg),
		ledger:  o.Ledger, log: o.Logger, now: o.Now, who: who,
	}
	c.catalogue = newCatalogue(c.ec2)
	return c, nil
}

// Whoami asks STS who the credentials belong to.
func (c *Cloud) Whoami(ctx context.Context) (cloudup.Identity, error) {
	out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return cloudup.Identity{}, fmt.Errorf("ask AWS who we are: %w", err)
	}
	arn := aws.ToString(out.Arn)
	c.who.set(arn)
	// arn:aws:sts::123456789012:assumed-role/admin/session
	parts := strings.SplitN(arn, ":", 6)
	return cloudup.Identity{
		Account: aws.ToString(out.Account), Name: parts[len(parts)-1], Region: c.region,
	}, nil
}

// account is the account that the calls are made in, or zeros while nobody was asked.
func (c *Cloud) account() string {
	if parts := strings.Split(c.who.name(), ":"); len(parts) > 4 {
		return parts[4]
	}
	return "000000000000"
}

// partition is the first part of ARNs: the region's group of regions.
func (c *Cloud) partition() string {
	switch {
	case strings.HasPrefix(c.region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(c.region, "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}

// begin starts a survey for a graph, or returns the one that was started for it; what its
// tasks claim is known to Removals.
func (c *Cloud) begin(g *tasks.Graph) *survey {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.survey == nil || c.survey.graph != g {
		c.survey = newSurvey(c, g)
	}
	return c.survey
}

// surveyOf returns the survey of a graph: the one that its lowering made, or a new one
// for a graph that holds none of our tasks, as that of a deletion.
func (c *Cloud) surveyOf(g *tasks.Graph) *survey {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.survey != nil && c.survey.graph == g {
		return c.survey
	}
	return newSurvey(c, g)
}

// caller remembers who the calls are made as, for errors about missing rights.
type caller struct {
	mu  sync.Mutex
	arn string
}

func (w *caller) set(arn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arn = arn
}

// name is the caller's ARN, "" while it is not known.
func (w *caller) name() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arn
}

func (w *caller) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.arn == "" {
		return "these credentials"
	}
	return w.arn
}
