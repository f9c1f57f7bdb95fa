// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newEdit(a *app) *cobra.Command {
	return parent("edit", "Change a spec in your editor", newEditCluster(a), newEditGroup(a))
}

func newEditCluster(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cluster [NAME]", Short: "Change a cluster's spec in your editor", Args: maxArgs(1),
		Long: `Open the spec in $SLIPWAY_EDITOR, $VISUAL or $EDITOR. A text with faults is given back
with the faults on top; leaving it unchanged, or empty, gives up.`,
		Example: "  slipway edit cluster demo.example.com", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, c, err := a.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.editManifest(cmd.Context(), d, c, "edit cluster", clusterDocument, nil)
		},
	}
}

func newEditGroup(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "instancegroup GROUP", Aliases: []string{"ig"}, Short: "Change an instance group in your editor", Args: exactArgs(1),
		Example: "  slipway edit instancegroup nodes-us-east-1a --cluster demo.example.com", ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, c, err := a.load(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if c.Group(args[0]) == nil {
				return &cluster.GroupNotFoundError{Group: args[0], Cluster: c.Cluster.Metadata.Name, Known: cluster.GroupNames(c.Manifest)}
			}
			return a.editManifest(cmd.Context(), d, c, "edit instancegroup "+args[0], groupDocument(args[0]), nil)
		},
	}
	a.addClusterFlag(cmd)
	return cmd
}

// editManifest opens one document of a cluster's manifest in the editor until it is
// right, unchanged or given up, and stores the result. prepare, if any, changes the
// manifest before it is shown (a new group).
func (a *app) editManifest(ctx context.Context, d cluster.Deps, c *cluster.Loaded, reason string,
	pick func(*api.Manifest) *api.Manifest, prepare func(*api.Manifest) error) error {
	if prepare != nil {
		if err := prepare(c.Manifest); err != nil {
			return err
		}
	}
	original, err := api.Marshal(pick(c.Manifest))
	if err != nil {
		return err
	}
	name, base := c.Cluster.Metadata.Name, c.Revision.Number
	text := original
	for {
		edited, err := a.openEditor(ctx, text)
		if err != nil {
			return err
		}
		if body := stripFaults(edited); len(bytes.TrimSpace(body)) == 0 || bytes.Equal(body, stripFaults(text)) {
			return a.editUnchanged(text, original, prepare != nil)
		}
		text = stripFaults(edited)
		changed, err := a.storeEdit(ctx, d, c, base, reason, text)
		if err == nil {
			return a.printChanged(name, changed)
		}
		var invalid *api.InvalidError
		if !errors.As(err, &invalid) {
			return fmt.Errorf("%w\nYour text is kept in %s", err, keepText(text))
		}
		text = append(faultComment(err), text...)
	}
}

// editUnchanged ends an edit whose text was left as it was shown.
func (a *app) editUnchanged(text, original []byte, isNew bool) error {
	if !bytes.Equal(stripFaults(text), original) {
		return &usageError{fmt.Errorf("given up with faults; nothing was stored. Your text is kept in %s", keepText(stripFaults(text)))}
	}
	if isNew {
		return &usageError{errors.New("given up: nothing was stored")}
	}
	_, err := fmt.Fprintln(a.Out, "Nothing was changed.")
	return err
}

// storeEdit puts the edited document into the manifest that was loaded and stores it
// as the revision after base.
func (a *app) storeEdit(ctx context.Context, d cluster.Deps, c *cluster.Loaded, base int, reason string, text []byte) (*cluster.Changed, error) {
	edited, err := api.Load(text, "edited text")
	if err != nil {
		return nil, err
	}
	m := &api.Manifest{Cluster: c.Cluster, Groups: append([]*api.InstanceGroup(nil), c.Groups...), SSHKeys: c.SSHKeys, Objects: c.Objects}
	if edited.Cluster != nil {
		if edited.Cluster.Metadata.Name != c.Cluster.Metadata.Name {
			return nil, &api.InvalidError{Faults: api.Faults{{Path: "metadata.name", Value: edited.Cluster.Metadata.Name,
				Message: "a cluster cannot be renamed; it is " + c.Cluster.Metadata.Name}}}
		}
		m.Cluster = edited.Cluster
	}
	if err := cluster.ReplaceParts(m, &api.Manifest{Groups: edited.Groups}); err != nil {
		return nil, &api.InvalidError{Faults: api.Faults{{Path: "metadata.name", Message: err.Error()}}}
	}
	return cluster.Replace(ctx, d, m, base, reason)
}

// openEditor writes text to a private file, runs the editor on it, and reads it back.
func (a *app) openEditor(ctx context.Context, text []byte) ([]byte, error) {
	f, err := os.CreateTemp("", "slipway-edit-*.yaml")
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	words := a.editor()
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], f.Name())...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // an editor then saves what it can
	cmd.WaitDelay = editorGrace
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	release := a.interrupts.hold() // in an editor, Ctrl-C is a key
	err = cmd.Run()
	release()
	edited, readErr := os.ReadFile(f.Name())
	if err != nil {
		err = fmt.Errorf("editor %s: %w; nothing was changed. Set EDITOR, or use `slipway set` or `slipway replace -f`", strings.Join(words, " "), err)
		if readErr == nil && !bytes.Equal(edited, text) {
			err = fmt.Errorf("%w\nYour text is kept in %s", err, keepText(stripFaults(edited)))
		}
		return nil, err
	}
	if readErr != nil {
		return nil, fmt.Errorf("editor %s left no file to read back: %w; nothing was changed", strings.Join(words, " "), readErr)
	}
	return edited, nil
}

// editorGrace is how long an editor may take to end when the run is told to.
const editorGrace = 5 * time.Second

// editor returns the command that the user edits with.
func (a *app) editor() []string {
	for _, key := range []string{"SLIPWAY_EDITOR", "VISUAL", "EDITOR"} {
		if words := strings.Fields(a.env(key)); len(words) > 0 {
			return words
		}
	}
	return []string{"vi"}
}

// faultMark starts the lines that carry faults in an edited text.
const faultMark = "#! "

func faultComment(err error) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(err.Error()) {
		b.WriteString(faultMark + strings.TrimRight(line, "\n") + "\n")
	}
	b.WriteString(faultMark + "Mend this and save, or leave the file as it is to give up.\n")
	return b.Bytes()
}

func stripFaults(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte(faultMark)) {
			out = append(out, line...)
		}
	}
	return out
}

// keepText saves a text that could not be stored, so that the work is not lost.
func keepText(text []byte) string {
	f, err := os.CreateTemp("", "slipway-kept-*.yaml")
	if err != nil {
		return "no file (" + err.Error() + ")"
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return "no file (" + err.Error() + ")"
	}
	return f.Name()
}
