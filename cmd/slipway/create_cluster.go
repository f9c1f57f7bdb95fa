// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

// createFlags is the flags of `create cluster`.
type createFlags struct {
	api.CreateOptions
	controlPlaneCount, nodeCount int32
	topology, dns, sshKeyFile    string
	publicIP, encryptEtcd        bool
	dryRun, yes                  bool
	output                       string
	update                       updateFlags
	seal                         sealFlags
}

func newCreateCluster(a *app) *cobra.Command {
	f := &createFlags{}
	cmd := &cobra.Command{
		Use: "cluster [NAME]", Short: "Create a cluster's spec", Args: maxArgs(1),
		Long: `Create a cluster's spec as revision 1 in the state store. Nothing is made in the
cloud until ` + "`slipway update cluster NAME --yes`" + `, or with --yes here.

Defaults: one control plane per zone, up to three and always an odd number; one node
per zone; ` + api.VersionsHelp() + `; sizes by the number of
nodes; --topology public; --dns none; the API closed: nothing outside reaches it until
--admin-access opens it.`,
		Example: `  slipway create cluster demo.example.com --zones us-east-1a,us-east-1b,us-east-1c
  slipway create cluster demo.example.com --zones us-east-1a --topology private --bastion \
      --admin-access 203.0.113.0/24 --ssh-access 203.0.113.0/24 --ssh-public-key ~/.ssh/id_ed25519.pub
  slipway create cluster demo.example.com --zones us-east-1a --dry-run -o yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, a, args) },
	}
	f.bind(cmd)
	return cmd
}

func (f *createFlags) bind(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Cloud, "cloud", "", "cloud: aws (default: guessed from the zones)")
	fl.StringSliceVar(&f.Zones, "zones", nil, "zones of the nodes, and of the control plane unless given")
	fl.StringSliceVar(&f.ControlPlaneZones, "control-plane-zones", nil, "zones of the control plane (default: the first of --zones, an odd number up to three)")
	fl.Int32Var(&f.controlPlaneCount, "control-plane-count", 0, "control-plane machines, an odd number (default: one per zone up to three)")
	fl.Int32Var(&f.nodeCount, "node-count", 0, "nodes (default: one per zone)")
	fl.StringVar(&f.ControlPlaneSize, "control-plane-size", "", "control-plane machine type (default: by the number of nodes)")
	fl.StringVar(&f.NodeSize, "node-size", "", "node machine type (default: by the number of nodes)")
	fl.StringVar(&f.BastionSize, "bastion-size", "", "bastion machine type (default t3.micro)")
	fl.StringVar(&f.topology, "topology", "", "public or private (default public; private with --bastion or --utility-subnets)")
	fl.StringVar(&f.Networking, "networking", "", "pod network: routes, flannel, cilium, calico, external (default routes)")
	fl.StringVar(&f.NetworkCIDR, "network-cidr", "", "address range of the network (default 172.20.0.0/16)")
	fl.StringVar(&f.NetworkID, "network-id", "", "an existing network to use and keep")
	fl.StringSliceVar(&f.SubnetIDs, "subnets", nil, "existing subnets to use and keep, one per zone")
	fl.StringSliceVar(&f.UtilitySubnetIDs, "utility-subnets", nil, "existing utility subnets to use and keep, one per zone")
	fl.StringVar(&f.KubernetesVersion, "kubernetes-version", "", "Kubernetes version (default: the newest supported)")
	fl.StringVar(&f.Image, "image", "", "image of all machines: OWNER/NAME or id (default: newest Ubuntu LTS)")
	fl.StringVar(&f.ControlPlaneImage, "control-plane-image", "", "image of the control plane")
	fl.StringVar(&f.NodeImage, "node-image", "", "image of the nodes")
	fl.StringVar(&f.BastionImage, "bastion-image", "", "image of the bastions")
	fl.StringVar(&f.dns, "dns", "", "where the cluster's names live: public, private or none (default none)")
	fl.StringVar(&f.DNSZone, "dns-zone", "", "DNS zone, by name or id (default: the longest that fits the cluster's name)")
	fl.StringSliceVar(&f.AdminAccess, "admin-access", nil, "address ranges that may reach the API (default: none)")
	fl.StringSliceVar(&f.SSHAccess, "ssh-access", nil, "address ranges that may reach SSH (default: none)")
	fl.StringVar(&f.sshKeyFile, "ssh-public-key", "", "`FILE` of the SSH public key for the machines (default: none)")
	fl.StringVar(&f.APILoadBalancer, "api-loadbalancer", "", "public, internal or none (default: public, closed, with several control planes or without DNS)")
	fl.StringVar(&f.APIPublicName, "api-public-name", "", "DNS name of the API (default api.NAME)")
	fl.BoolVar(&f.Bastion, "bastion", false, "add a group of bastions, the way in to the machines of a private topology")
	fl.StringToStringVar(&f.CloudLabels, "cloud-labels", nil, "labels for every cloud object: KEY=VALUE,...")
	f.bindSizes(cmd)
	fl.StringArrayVar(&f.Sets, "set", nil, "set any field: `PATH=VALUE` (repeatable)")
	fl.StringArrayVar(&f.Unsets, "unset", nil, "unset any field: `PATH` (repeatable)")
	f.seal.bind(cmd)
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the spec and write nothing")
	fl.StringVarP(&f.output, "output", "o", "yaml", "form of --dry-run: yaml or json")
	fl.BoolVar(&f.yes, "yes", false, "apply at once")
}

// bindSizes adds the flags of volumes, groups and tenancy.
func (f *createFlags) bindSizes(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Int32Var(&f.ControlPlaneVolumeSize, "control-plane-volume-size", 0, "root volume of the control plane in GiB (default 64)")
	fl.StringVar(&f.ControlPlaneVolumeType, "control-plane-volume-type", "", "root volume type of the control plane (default gp3)")
	fl.Int32Var(&f.NodeVolumeSize, "node-volume-size", 0, "root volume of the nodes in GiB (default 128)")
	fl.StringVar(&f.NodeVolumeType, "node-volume-type", "", "root volume type of the nodes (default gp3)")
	fl.StringSliceVar(&f.ControlPlaneSecurityGroups, "control-plane-security-groups", nil, "extra security groups of the control plane")
	fl.StringSliceVar(&f.NodeSecurityGroups, "node-security-groups", nil, "extra security groups of the nodes")
	fl.StringVar(&f.ControlPlaneTenancy, "control-plane-tenancy", "", "tenancy of the control plane: default, dedicated or host")
	fl.StringVar(&f.NodeTenancy, "node-tenancy", "", "tenancy of the nodes: default, dedicated or host")
	fl.StringSliceVar(&f.EtcdClusters, "etcd-clusters", nil, "etcd clusters (default main,events)")
	fl.StringVar(&f.EtcdVolumeType, "etcd-storage-type", "", "type of the etcd volumes (default gp3)")
	fl.BoolVar(&f.encryptEtcd, "encrypt-etcd-storage", true, "encrypt the etcd volumes")
	fl.BoolVar(&f.publicIP, "associate-public-ip", false, "public addresses for machines (default: by topology)")
}

func (f *createFlags) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	d, err := a.keyDeps(ctx, &f.seal)
	if err != nil {
		return err
	}
	if f.Name, err = a.clusterName(ctx, d, args); err != nil {
		return err
	}
	if err := f.options(cmd, a); err != nil {
		return err
	}
	m, err := api.New(f.CreateOptions)
	if err != nil {
		return err
	}
	if s := f.seal.spec(); s != nil {
		m.Cluster.Spec.Sealing = s
	}
	created, err := cluster.Create(ctx, d, m, cluster.CreateOptions{DryRun: f.dryRun})
	if err != nil {
		return err
	}
	a.warnAll(created.Warnings)
	if f.dryRun {
		return printManifest(a.Out, m, f.output)
	}
	if err := a.printCreated(created); err != nil {
		return err
	}
	if !f.yes {
		return a.printNext(f.Name)
	}
	fmt.Fprintln(a.Out)
	return f.apply(ctx, a, d)
}

func (f *createFlags) apply(ctx context.Context, a *app, d cluster.Deps) error {
	f.update.yes, f.update.output = true, "text"
	return f.update.execute(ctx, a, d, f.Name)
}

// options moves flags whose absence matters into the options.
func (f *createFlags) options(cmd *cobra.Command, a *app) error {
	changed := cmd.Flags().Changed
	if changed("control-plane-count") {
		f.ControlPlaneCount = &f.controlPlaneCount
	}
	if changed("node-count") {
		f.NodeCount = &f.nodeCount
	}
	if changed("associate-public-ip") {
		f.AssociatePublicIP = &f.publicIP
	}
	if changed("encrypt-etcd-storage") {
		f.EncryptEtcd = &f.encryptEtcd
	}
	f.Topology, f.DNS = api.Topology(strings.ToLower(f.topology)), api.DNSMode(strings.ToLower(f.dns))
	if f.output != "yaml" && f.output != "json" {
		return &usageError{fmt.Errorf("--output is %q; it takes yaml or json", f.output)}
	}
	if f.sshKeyFile != "" {
		key, err := a.readFile(f.sshKeyFile)
		if err != nil {
			return fmt.Errorf("read the SSH public key: %w", err)
		}
		f.SSHPublicKey = strings.TrimSpace(string(key))
	}
	return nil
}
