import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Runs `ends` of kafka_ends.py on events from its standard input, without a client of Kafka. */
const SCRIPT = `import json, sys; sys.path.insert(0, ${JSON.stringify(FOLDER)}); from kafka_ends import ends
print(json.dumps(list(ends(("", json.dumps(event).encode()) for event in json.loads(sys.argv[1])))))`;

test("the example in Python gives each end once", async () => {
  const event = (id: string, type: string) => ({ id, type, data: { executionId: id.split("/")[0], handler: "echo" } });
  const [end, other] = [event("x/1/JobCompleted", "JobCompleted"), event("y/1/JobCancelled", "JobCancelled")];
  const events = [event("x/1/JobStarted", "JobStarted"), end, event("gap", "EventsDropped"), end, other];
  const { stdout } = await promisify(execFile)("python3", ["-B", "-c", SCRIPT, JSON.stringify(events)]);
  assert.deepEqual(JSON.parse(stdout), [
    ["x", "JobCompleted", "echo"],
    ["y", "JobCancelled", "echo"],
  ]);
});
