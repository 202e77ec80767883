"""Prints the end of each execution once, from the topic of events.

Usage: pip install kafka-python==2.3.3 && python3 kafka_ends.py HOST:PORT
"""

import json
import sys
from collections import OrderedDict

ENDS = {"JobCompleted", "JobCancelled", "JobSkipped", "JobDeadLettered"}
REMEMBERED = 100_000


def ends(messages):
    """Yields (execution id, kind, handler) of each end once.

    messages: values of ms.job-events as bytes, in any number of repeats.
    """
    seen = OrderedDict()
    for value in messages:
        event = json.loads(value)
        if event["type"] == "EventsDropped":
            print("gap: compare with GET /v1/executions", event["data"], file=sys.stderr)
        if event["type"] not in ENDS or event["id"] in seen:
            continue
        seen[event["id"]] = None
        if len(seen) > REMEMBERED:
            seen.popitem(last=False)
        yield event["data"]["executionId"], event["type"], event["data"]["handler"]


def main(broker):
    # The client is imported here, so that a check of this file needs none.
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        "ms.job-events",
        bootstrap_servers=[broker],
        group_id="ends-in-python",
        auto_offset_reset="earliest",
    )
    for end in ends(message.value for message in consumer):
        print(*end, flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
