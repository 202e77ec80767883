"""Prints the end of each execution once, from the topic of events, in JSON and in Protobuf.

Usage: pip install kafka-python==2.3.3 && python3 kafka_ends.py HOST:PORT

Protobuf needs the classes of the schema, in this folder:
pip install grpcio-tools && python3 -m grpc_tools.protoc -I ../packages/proto/proto --python_out=. mainspring/events/v1/events.proto
"""

import json
import sys
from collections import OrderedDict

ENDS = {"JobCompleted", "JobCancelled", "JobSkipped", "JobDeadLettered"}
REMEMBERED = 100_000


def read(content_type, value):
    """Returns (event id, kind, execution id, handler, gap) of a message; gap is None unless rows are missing."""
    if content_type == "application/protobuf":
        from mainspring.events.v1.events_pb2 import JobEvent

        event = JobEvent.FromString(value)
        gap = event.events_dropped if event.HasField("events_dropped") else None
        return event.id, event.kind, event.execution_id, event.handler, gap
    event = json.loads(value)
    kind, data = event["type"], event["data"]
    if kind == "EventsDropped":
        return event["id"], kind, None, None, data
    return event["id"], kind, data["executionId"], data["handler"], None


def ends(messages):
    """Yields (execution id, kind, handler) of each end once.

    messages: pairs of the header content-type and the value as bytes, of messages of ms.job-events, in any number of repeats.
    """
    seen = OrderedDict()
    for content_type, value in messages:
        event_id, kind, execution_id, handler, gap = read(content_type, value)
        if gap is not None:
            print("gap: compare with GET /v1/executions", gap, file=sys.stderr)
        if kind not in ENDS or event_id in seen:
            continue
        seen[event_id] = None
        if len(seen) > REMEMBERED:
            seen.popitem(last=False)
        yield execution_id, kind, handler


def main(broker):
    # The client is imported here, so that a check of this file needs none.
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        "ms.job-events",
        bootstrap_servers=[broker],
        group_id="ends-in-python",
        auto_offset_reset="earliest",
    )
    for end in ends((content_type(message), message.value) for message in consumer):
        print(*end, flush=True)


def content_type(message):
    return dict(message.headers).get("content-type", b"").decode()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
