"""Reads values of messages of Kafka with the classes that protoc makes of the schema of events.

Usage: read.py SCHEMAS EXAMPLES. SCHEMAS is the folder of the schemas, and EXAMPLES that of kafka_ends.py. Each line of standard
input is a value in base64. The program prints the values in the JSON of protobuf and the ends that the example finds among them.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path

from google.protobuf import unknown_fields
from google.protobuf.json_format import MessageToDict
from grpc_tools import protoc

SCHEMAS, EXAMPLES = sys.argv[1:3]
SCHEMA = "mainspring/events/v1/events.proto"

values = [base64.b64decode(line) for line in sys.stdin]
with tempfile.TemporaryDirectory() as classes:
    well_known = Path(protoc.__file__).parent / "_proto"
    if protoc.main(["protoc", f"-I{SCHEMAS}", f"-I{well_known}", f"--python_out={classes}", SCHEMA]) != 0:
        sys.exit("protoc does not take the schema")
    sys.path[:0] = [classes, EXAMPLES]
    from kafka_ends import ends
    from mainspring.events.v1.events_pb2 import JobEvent

    messages = [JobEvent.FromString(value) for value in values]
    if any(len(unknown_fields.UnknownFieldSet(message)) > 0 for message in messages):
        sys.exit("a message has a field that the schema does not know")
    found = list(ends(("application/protobuf", value) for value in values))
    print(json.dumps({"events": [MessageToDict(message) for message in messages], "ends": found}))
