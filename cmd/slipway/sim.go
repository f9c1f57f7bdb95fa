// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newSim(a *app) *cobra.Command {
	cmd := parent("sim", "Run the simulated cloud on this machine",
		newSimStart(a), newSimStop(a), newSimStatus(a), newSimEnv(a), newSimLog(a), newSimReset(a))
	cmd.Long = `The simulated cloud speaks the real wire protocols on loopback, so that this program,
SDKs and Terraform work on it without an account. Its world is kept on disk.`
	cmd.Example = "  slipway sim start\n  eval \"$(slipway sim env)\"\n  slipway sim log | tail\n  slipway sim stop"
	return cmd
}

func newSimStart(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "start", Short: "Start the simulated cloud in the background", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := a.simulator()
			ready, already, err := s.start(cmd.Context())
			if err != nil {
				return err
			}
			state := "started"
			if already {
				state = "already runs"
			}
			_, err = fmt.Fprintf(a.Out, "The simulated cloud %s at %s (process %d).\nTo use it: eval \"$(slipway sim env)\"\n", state, ready.URL, ready.PID)
			return err
		},
	}
}

func newSimStop(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Stop the simulated cloud; its world stays", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			was, err := a.simulator().stop(cmd.Context())
			if err != nil {
				return err
			}
			word := "Stopped the simulated cloud."
			if !was {
				word = "The simulated cloud does not run."
			}
			_, err = fmt.Fprintln(a.Out, word)
			return err
		},
	}
}

func newSimStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say whether the simulated cloud runs, where, and what it holds", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := a.simulator()
			ready, ok := s.running()
			if !ok {
				_, err := fmt.Fprintf(a.Out, "The simulated cloud does not run. Its world is in %s.\n", s.dir)
				return err
			}
			var status struct {
				Clouds map[string]map[string]int `json:"clouds"`
				Calls  int                       `json:"calls"`
			}
			if err := s.control(cmd.Context(), ready, http.MethodGet, "status", func(r io.Reader) error {
				return json.NewDecoder(r).Decode(&status)
			}); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "The simulated cloud runs at %s (process %d, since %s), %d calls logged.\nIts world is in %s.\n",
				ready.URL, ready.PID, ready.StartTime.Local().Format(time.DateTime), status.Calls, s.dir)
			var rows [][]string
			for _, cloud := range slices.Sorted(maps.Keys(status.Clouds)) {
				for _, kind := range slices.Sorted(maps.Keys(status.Clouds[cloud])) {
					if n := status.Clouds[cloud][kind]; n > 0 {
						rows = append(rows, []string{cloud, kind, fmt.Sprint(n)})
					}
				}
			}
			if len(rows) == 0 {
				_, err := fmt.Fprintln(a.Out, "It is empty.")
				return err
			}
			return table(a.Out, []string{"CLOUD", "KIND", "OBJECTS"}, rows)
		},
	}
}

func newSimEnv(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "env", Short: "Print the environment that points SDKs at the simulated cloud", Args: exactArgs(0),
		Example: "  eval \"$(slipway sim env)\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := a.simulator()
			ready, ok := s.running()
			if !ok {
				return errSimStopped
			}
			binary, err := s.binary()
			if err != nil {
				return err
			}
			c := exec.CommandContext(cmd.Context(), binary, "env", "--addr", ready.Addr)
			c.Stdout, c.Stderr = a.Out, a.Err
			return c.Run()
		},
	}
}

func newSimLog(a *app) *cobra.Command {
	var clear bool
	var form string
	cmd := &cobra.Command{
		Use: "log", Short: "Print the calls that the simulated cloud answered", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if form != "text" && form != "json" {
				return &usageError{fmt.Errorf("--output is %q; it takes text or json", form)}
			}
			s := a.simulator()
			ready, ok := s.running()
			if !ok {
				return errSimStopped
			}
			if clear {
				return s.control(cmd.Context(), ready, http.MethodDelete, "log", discard)
			}
			return s.control(cmd.Context(), ready, http.MethodGet, "log", func(r io.Reader) error { return printCalls(a.Out, r, form) })
		},
	}
	cmd.Flags().BoolVar(&clear, "clear", false, "empty the log instead")
	cmd.Flags().StringVarP(&form, "output", "o", "text", "text or json (one object a line)")
	return cmd
}

func newSimReset(a *app) *cobra.Command {
	var cloud string
	cmd := &cobra.Command{
		Use: "reset", Short: "Empty the world of a simulated cloud", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := a.simulator()
			ready, ok := s.running()
			if !ok {
				return errSimStopped
			}
			if err := s.control(cmd.Context(), ready, http.MethodPost, "reset?cloud="+cloud, discard); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Out, "The simulated %s is empty.\n", cloud)
			return err
		},
	}
	cmd.Flags().StringVar(&cloud, "cloud", "aws", "which cloud")
	return cmd
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// printCalls prints the call log, one call a line.
func printCalls(w io.Writer, r io.Reader, form string) error {
	if form == "json" {
		_, err := io.Copy(w, r)
		return err
	}
	dec := json.NewDecoder(r)
	for {
		var c struct {
			Time                   time.Time
			Service, Action, Error string
			Status                 int
		}
		if err := dec.Decode(&c); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the call log: %w", err)
		}
		line := fmt.Sprintf("%s  %-12s %-36s %d %s", c.Time.Local().Format("15:04:05.000"), c.Service, c.Action, c.Status, c.Error)
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
}

// control makes one call of the simulator's control API (docs/reference/sim.md).
func (s simulator) control(ctx context.Context, at simReady, method, path string, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, at.URL+"/_slipway/"+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the simulated cloud: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("the simulated cloud answered %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return read(resp.Body)
}
