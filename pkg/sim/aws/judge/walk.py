# SPDX-License-Identifier: Apache-2.0
"""Checks a raw XML or JSON answer against botocore's output shape.

botocore's own parser drops elements that it does not know, so an answer that
it reads proves little. This walks the service model instead: every element
must be a member of the shape, of the right type, and required ones present.
"""
import base64
import binascii
import json
import re
import xml.etree.ElementTree as ET

INTEGER = re.compile(r"^-?\d+$")
FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$")
ISO_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


class Faults(list):
    """Lines of text, and for wrong values where they stand."""

    def __init__(self):
        super().__init__()
        self.values = []

    def value(self, path, text, line):
        self.values.append((path, text, line))


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def walk_answer(operation, protocol, body, roots=None):
    """Returns the faults of one successful answer, as lines; those of single values stand in .values.

    roots gives the root elements that a REST service really answers with where
    its model names only an output shape.
    """
    faults = Faults()
    shape = operation.output_shape
    if protocol == "rest-xml":
        walk_rest(operation, shape, body, faults, roots or {})
        return faults
    if protocol == "json":
        walk_json_answer(operation, shape, body, faults)
        return faults
    try:
        root = ET.fromstring(body)
    except ET.ParseError as error:
        faults.append(f"not XML: {error}")
        return faults
    if local(root) != operation.name + "Response":
        faults.append(f"root is {local(root)}, not {operation.name}Response")
    if protocol == "ec2":
        if [c for c in root if local(c) == "requestId"] == []:
            faults.append("no requestId")
        children = [c for c in root if local(c) != "requestId"]
    else:
        if [c for c in root if local(c) == "ResponseMetadata"] == []:
            faults.append("no ResponseMetadata")
        children = [c for c in root if local(c) != "ResponseMetadata"]
        if shape is not None and shape.serialization.get("resultWrapper"):
            wrapper = shape.serialization["resultWrapper"]
            if [local(c) for c in children] != [wrapper]:
                faults.append(f"expected only {wrapper}, found {[local(c) for c in children]}")
                return faults
            children = list(children[0])
        elif shape is None:
            children = [c for c in children if local(c) != operation.name + "Result" or len(c)]
    if shape is None:
        # Operations without an output still say <return>true</return> in EC2.
        children = [c for c in children if local(c) != "return"]
        if children:
            faults.append(f"answer of an operation without output has {[local(c) for c in children]}")
        return faults
    walk_structure(shape, children, operation.name, faults, extra=("return",) if protocol == "ec2" else ())
    return faults


def walk_rest(operation, shape, body, faults, roots):
    if shape is None:
        if body.strip():
            faults.append("answer of an operation without output has a body")
        return
    payload = shape.serialization.get("payload")
    if payload and shape.members[payload].type_name in ("blob", "string"):
        return
    in_body = {k: v for k, v in shape.members.items() if v.serialization.get("location") is None}
    if not in_body and not body.strip():
        return
    try:
        root = ET.fromstring(body)
    except ET.ParseError as error:
        faults.append(f"not XML: {error}")
        return
    if not in_body:
        if len(root) or local(root) != operation.name + "Response":
            faults.append("answer without body members has a body")
        return
    target = shape.members[payload] if payload else shape
    wanted = target.serialization.get("name", target.name)
    allowed = [roots[operation.name]] if operation.name in roots else [wanted, target.name, operation.name + "Response"]
    if local(root) not in allowed:
        faults.append(f"root is {local(root)}, not {allowed[0]}")
    walk_structure(target, list(root), operation.name, faults)


def element_name(name, member):
    if member.type_name == "list" and member.serialization.get("flattened"):
        return member.member.serialization.get("name", member.serialization.get("name", name))
    return member.serialization.get("name", name)


def walk_structure(shape, children, path, faults, extra=()):
    names = {}
    for name, member in shape.members.items():
        if member.serialization.get("location") in ("header", "headers", "statusCode") or member.serialization.get("xmlAttribute"):
            continue
        names[element_name(name, member)] = (name, member)
    seen = {}
    for child in children:
        tag = local(child)
        if tag not in names:
            if tag not in extra:
                faults.append(f"{path}: unknown element {tag}")
            continue
        seen.setdefault(tag, []).append(child)
    for tag, found in seen.items():
        name, member = names[tag]
        flattened = member.type_name == "list" and member.serialization.get("flattened")
        if flattened:
            for item in found:
                walk_value(member.member, item, f"{path}.{name}", faults)
            continue
        if len(found) > 1:
            faults.append(f"{path}: {tag} stands {len(found)} times")
        walk_value(member, found[0], f"{path}.{name}", faults)
    for name in shape.required_members:
        member = shape.members[name]
        if member.serialization.get("location") in ("header", "headers", "statusCode") or member.serialization.get("xmlAttribute"):
            continue
        if element_name(name, member) not in seen:
            faults.append(f"{path}: required {name} is missing")


def walk_value(shape, element, path, faults):
    kind = shape.type_name
    if kind == "structure":
        walk_structure(shape, [c for c in element], path, faults)
    elif kind == "list":
        item_name = shape.member.serialization.get("name", "member")
        for item in element:
            if local(item) != item_name:
                faults.append(f"{path}: list item is {local(item)}, not {item_name}")
                continue
            walk_value(shape.member, item, path + "[]", faults)
    elif kind == "map":
        key = shape.key.serialization.get("name", "key")
        value = shape.value.serialization.get("name", "value")
        for entry in element:
            if sorted(local(c) for c in entry) != sorted([key, value]):
                faults.append(f"{path}: map entry has {[local(c) for c in entry]}")
    else:
        walk_scalar(shape, element, path, faults)


def walk_scalar(shape, element, path, faults):
    text = element.text or ""
    if len(element):
        faults.append(f"{path}: a {shape.type_name} has elements in it")
        return
    kind = shape.type_name
    good = True
    if kind in ("integer", "long"):
        good = INTEGER.match(text)
    elif kind in ("float", "double"):
        good = FLOAT.match(text)
    elif kind == "boolean":
        good = text in ("true", "false")
    elif kind == "timestamp":
        good = ISO_TIME.match(text)
    elif kind == "blob":
        try:
            base64.b64decode(text, validate=True)
        except binascii.Error:
            good = False
    elif kind == "string" and getattr(shape, "enum", None):
        good = text in shape.enum
    if not good:
        faults.value(path, text, f"{path}: {text!r} is no {kind}" + (f" of {shape.enum}" if getattr(shape, "enum", None) else ""))


def walk_json_answer(operation, shape, body, faults):
    if shape is None:
        if body.strip() not in (b"", b"{}"):
            faults.append("answer of an operation without output has a body")
        return
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        faults.append(f"not JSON: {error}")
        return
    walk_json(shape, value, operation.name, faults)


JSON_TYPES = {
    "structure": dict, "map": dict, "list": list, "string": str, "blob": str, "boolean": bool,
    "integer": int, "long": int, "float": (int, float), "double": (int, float), "timestamp": (int, float),
}


def walk_json(shape, value, path, faults):
    kind = shape.type_name
    if not isinstance(value, JSON_TYPES[kind]) or isinstance(value, bool) and kind != "boolean":
        faults.value(path, repr(value), f"{path}: {value!r} is no {kind}")
        return
    if kind == "structure":
        for name in value:
            if name not in shape.members:
                faults.append(f"{path}: unknown member {name}")
        for name in shape.required_members:
            if name not in value:
                faults.append(f"{path}: required {name} is missing")
        for name, member in shape.members.items():
            if name in value:
                walk_json(member, value[name], f"{path}.{name}", faults)
    elif kind == "list":
        for item in value:
            walk_json(shape.member, item, path + "[]", faults)
    elif kind == "map":
        for item in value.values():
            walk_json(shape.value, item, path + "{}", faults)
    elif kind == "blob":
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            faults.value(path, value, f"{path}: {value!r} is no base64")
    elif kind == "string" and getattr(shape, "enum", None) and value not in shape.enum:
        faults.value(path, value, f"{path}: {value!r} is none of {shape.enum}")
