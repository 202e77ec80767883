"""Submits jobs through Kafka: python3 kafka_submit.py host:9092 3"""

import json
import sys

from kafka import KafkaProducer

broker = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
producer = KafkaProducer(bootstrap_servers=broker, acks="all")
for n in range(1, count + 1):
    job = {"target": {"handler": "send-receipt"}, "payload": {"order": n}}
    # A repeat of the message, by this program or by Kafka, is the same job. A repeat must have the same payload, byte by byte.
    value = json.dumps(job, separators=(",", ":")).encode()
    headers = [("content-type", b"application/json"), ("idempotency-key", f"receipt-{n}".encode())]
    sent = producer.send("ms.job-requests", value, headers=headers).get(timeout=30)
    print(f"request {sent.partition}-{sent.offset}")
producer.close()
