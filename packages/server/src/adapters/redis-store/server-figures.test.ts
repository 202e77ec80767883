import assert from "node:assert/strict";
import { it } from "node:test";
import { figuresOf } from "./server-figures.ts";

const PRIMARY = [
  ...[
    "# Memory",
    "used_memory:1048576",
    "used_memory_peak:2000000",
    "maxmemory:4294967296",
    "maxmemory_policy:noeviction",
  ],
  ...["# Replication", "role:master", "connected_slaves:3"],
  "slave0:ip=10.0.0.2,port=6379,state=online,offset=990,lag=0",
  "slave1:ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0",
  "slave2:ip=10.0.0.4,port=6379,state=online,offset=400,lag=1",
  ...["master_replid:0123", "master_repl_offset:1000", "slave_repl_offset:5"],
].join("\r\n");

it("the figures of a primary count the replicas that follow, and the lag of the slowest one", () => {
  assert.deepEqual(figuresOf(PRIMARY, "0123456789012345678901234567890123456789 12 1700000000000"), {
    ...{ usedBytes: 1_048_576, maxBytes: 4_294_967_296, refusalShare: 0.9 },
    ...{ role: "primary", replicas: 2, lagBytes: 600, generation: 12 },
  });
});

it("the figures of a replica say that it is one", () => {
  const { role, replicas, lagBytes, generation } = figuresOf("role:slave\r\nmaster_link_status:up\r\n", null);
  assert.deepEqual([role, replicas, lagBytes, generation], ["replica", 0, null, null]);
});
