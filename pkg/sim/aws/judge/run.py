# SPDX-License-Identifier: Apache-2.0
"""Drives every operation of the simulator and judges each answer's shape.

usage: run.py ENDPOINT [SERVICE...]

Each service has a module beside this file named judge_NAME.py with

    SERVICE = "ec2"                # boto3's name; SIGNING where the signing name differs
    ROOTS = {}                     # optional, of REST services: root elements by operation
    BEYOND_MODEL = {}              # optional: values that AWS answers beyond its own enums, by the end of their path
    def scenario(call): ...        # call("DescribeVpcs", Filters=[...]) -> parsed answer

Credentials come from the environment. A further client (another service) for
what a scenario needs beforehand is call.client("iam"). Every operation that
the simulator lists for the service must have been called. Faults go to stdout;
exit code 1 when there are any.
"""
import glob
import importlib
import json
import os
import sys
import urllib.request

import boto3
import botocore.config
import botocore.exceptions

from walk import walk_answer


class Calls:
    """Calls operations of one service by name and walks the answers."""

    def __init__(self, service, endpoint, beyond_model, roots):
        self.beyond_model, self.roots = beyond_model, roots
        self.service, self.endpoint = service, endpoint
        self.connection = self.client(service)
        self.covered, self.faults = set(), []
        self.names = {self.connection.meta.method_to_api_mapping[m]: m for m in self.connection.meta.method_to_api_mapping}
        self.connection.meta.events.register("before-parse." + self.connection.meta.service_model.service_id.hyphenize(), self.judge)

    def client(self, service):
        config = botocore.config.Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"})
        return boto3.client(service, endpoint_url=self.endpoint, region_name="us-east-1", config=config)

    def judge(self, operation_model, response_dict, **_):
        if response_dict["status_code"] >= 300:
            return
        body = response_dict["body"]
        if not isinstance(body, bytes):
            return  # a stream: there is no shape to walk
        protocol = self.connection.meta.service_model.metadata["protocol"]
        found = walk_answer(operation_model, protocol, body, self.roots)
        wrong = [line for path, text, line in found.values if not self.beyond(path, text)]
        for fault in list(found) + wrong:
            self.faults.append(f"{self.service} {operation_model.name}: {fault}")

    def beyond(self, path, text):
        return any(path.endswith(end) and text in values for end, values in self.beyond_model.items())

    def __call__(self, operation, **params):
        self.covered.add(operation)
        return getattr(self.connection, self.names[operation])(**params)

    def refused(self, code, operation, **params):
        """Calls and expects the error code."""
        try:
            self(operation, **params)
        except botocore.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != code:
                self.faults.append(f"{self.service} {operation}: refused with {error.response['Error']}, not {code}")
            return
        self.faults.append(f"{self.service} {operation}: accepted, expected {code}")


def main():
    endpoint, wanted = sys.argv[1], sys.argv[2:]
    with urllib.request.urlopen(endpoint + "/_slipway/operations") as answer:
        offered = json.load(answer)
    faults = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        signing = getattr(module, "SIGNING", module.SERVICE)
        if wanted and module.SERVICE not in wanted or signing not in offered:
            continue
        calls = Calls(module.SERVICE, endpoint, getattr(module, "BEYOND_MODEL", {}), getattr(module, "ROOTS", {}))
        module.scenario(calls)
        missed = set(offered.pop(signing)) - calls.covered
        faults += calls.faults + [f"{module.SERVICE} {name}: not called by its scenario" for name in sorted(missed)]
        print(f"{module.SERVICE}: {len(calls.covered)} operations, {len(calls.faults)} faults")
    if not wanted:
        faults += [f"{name}: the simulator serves it and no module judges it" for name in sorted(offered)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
