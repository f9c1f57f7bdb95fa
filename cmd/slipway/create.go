// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newCreate(a *app) *cobra.Command {
	var files []string
	cmd := parent("create", "Create a cluster, an instance group or a key",
		newCreateCluster(a), newCreateGroup(a), newCreateSecret(a), newCreateKeypair(a))
	cmd.Example = `  slipway create cluster demo.example.com --zones us-east-1a,us-east-1b,us-east-1c
  slipway create -f cluster.yaml`
	help := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(files) == 0 {
			return help(cmd, args)
		}
		return a.createFiles(cmd.Context(), files)
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `FILE` (repeatable; - is stdin)")
	return cmd
}

// createFiles creates the cluster that manifests hold, or adds their groups and keys to
// the cluster that they name.
func (a *app) createFiles(ctx context.Context, files []string) error {
	m, err := a.readManifests(files)
	if err != nil {
		return err
	}
	d, err := a.deps(ctx)
	if err != nil {
		return err
	}
	if m.Cluster == nil {
		return a.addToCluster(ctx, d, m)
	}
	created, err := cluster.Create(ctx, d, m, cluster.CreateOptions{Reason: "create -f"})
	if err != nil {
		return err
	}
	a.warnAll(created.Warnings)
	if err := a.printCreated(created); err != nil {
		return err
	}
	return a.printNext(created.Manifest.Cluster.Metadata.Name)
}

// addToCluster adds groups and keys of a file without a Cluster to a stored one.
func (a *app) addToCluster(ctx context.Context, d cluster.Deps, m *api.Manifest) error {
	name, err := a.clusterName(ctx, d, labelled(m))
	if err != nil {
		return err
	}
	changed, err := cluster.Change(ctx, d, name, "create -f", func(old *api.Manifest) error {
		for _, g := range m.Groups {
			if err := cluster.AddGroup(old, g); err != nil {
				return err
			}
		}
		for _, k := range m.SSHKeys {
			cluster.SetSSHKey(old, k.Metadata.Name, k.Spec.PublicKey)
		}
		old.Objects = append(old.Objects, m.Objects...)
		return nil
	})
	if err != nil {
		return err
	}
	return a.printChanged(name, changed)
}

// labelled returns the cluster that a file's groups name by label, as an argument list.
func labelled(m *api.Manifest) []string {
	for _, g := range m.Groups {
		if name := g.Metadata.Labels[api.ClusterLabel]; name != "" {
			return []string{name}
		}
	}
	for _, k := range m.SSHKeys {
		if name := k.Metadata.Labels[api.ClusterLabel]; name != "" {
			return []string{name}
		}
	}
	return nil
}

// readManifests reads and joins manifest files, strictly.
func (a *app) readManifests(files []string) (*api.Manifest, error) {
	var all []byte
	source := files[0]
	if len(files) > 1 {
		source = fmt.Sprintf("%d files", len(files))
	}
	for _, file := range files {
		data, err := a.readFile(file)
		if err != nil {
			return nil, err
		}
		if data, err = a.converted(data, file); err != nil {
			return nil, err
		}
		if _, err := api.Load(data, file); err != nil {
			return nil, err
		}
		all = append(append(all, data...), "\n---\n"...)
	}
	return api.Load(all, source)
}

// maxInput bounds a file that is read whole; the plan of a large cluster has a few MiB.
const maxInput = 32 << 20

// readFile reads a file, or stdin for "-".
func (a *app) readFile(file string) ([]byte, error) {
	if file == "-" {
		return readInput(a.In, "stdin")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &usageError{err}
	}
	defer f.Close()
	return readInput(f, file)
}

// readInput reads to the end, which a device or a pipe may not have.
func readInput(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, &usageError{fmt.Errorf("read the input: %w", err)} // a file's error names it
	}
	if len(data) > maxInput {
		return nil, &usageError{fmt.Errorf("read %s: it is larger than %d MiB, which no input of this program is", name, maxInput>>20)}
	}
	return data, nil
}

// printCreated says what was stored, and what nobody outside reaches.
func (a *app) printCreated(c *cluster.Created) error {
	spec := c.Manifest.Cluster.Spec
	name := c.Manifest.Cluster.Metadata.Name
	fmt.Fprintf(a.Out, "Created cluster %s, revision %d, with %d instance groups, in %s\n",
		name, c.Revision, len(c.Manifest.Groups), a.storeURL())
	if len(spec.API.Access) == 0 {
		fmt.Fprintf(a.Out, `
Nothing outside the cluster's network reaches its API. To open it to an address range:
  slipway set cluster %s api.access=203.0.113.0/24
`, name)
	}
	if spec.Bastion != nil && len(spec.SSHAccess) == 0 {
		fmt.Fprintf(a.Out, `
Nothing outside reaches the bastions. To open them to an address range:
  slipway set cluster %s sshAccess=203.0.113.0/24
`, name)
	}
	return nil
}

// printNext says what comes after the creation of a spec.
func (a *app) printNext(name string) error {
	_, err := fmt.Fprintf(a.Out, `
Next:
  slipway update cluster %[1]s          see the plan
  slipway update cluster %[1]s --yes    apply it
  slipway edit cluster %[1]s            change the spec
`, name)
	return err
}

// printChanged says which revision a change made.
func (a *app) printChanged(name string, c *cluster.Changed) error {
	a.warnAll(c.Warnings)
	if !c.Written {
		_, err := fmt.Fprintf(a.Out, "Cluster %s is already so (revision %d).\n", name, c.Revision)
		return err
	}
	_, err := fmt.Fprintf(a.Out, "Cluster %s is now at revision %d. To see what that changes: slipway update cluster %s\n", name, c.Revision, name)
	return err
}
