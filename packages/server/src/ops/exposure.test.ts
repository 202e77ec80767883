import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exposures } from "./combination-faults.ts";
import { loadConfig } from "./config.ts";

describe("a server that other machines reach", () => {
  it("serves other machines only with a key", () => {
    for (const address of ["0.0.0.0:8080", "10.0.0.1:8080", "[::]:8080", "jobs.example:8080", "127.example:8080"]) {
      const faults = exposures(loadConfig({ MAINSPRING_HTTP: address, MAINSPRING_GRPC: address }));
      assert.match(faults[0] ?? "", /MAINSPRING_HTTP must be a loopback address .*MAINSPRING_API_KEY/, address);
      assert.match(faults[1] ?? "", /MAINSPRING_GRPC must be a loopback address .*mainspring keys create/);
      const keyed = { MAINSPRING_HTTP: address, MAINSPRING_GRPC: address, MAINSPRING_API_KEY: "k".repeat(16) };
      assert.deepEqual(exposures(loadConfig(keyed)), []);
    }
    assert.deepEqual(exposures(loadConfig({ MAINSPRING_HTTP: "localhost:0", MAINSPRING_GRPC: "127.8.8.8:0" })), []);
  });

  it("opens no mesh to other machines without a secret, whatever keys the store has", () => {
    const cluster = { MAINSPRING_BUS: "mesh", MAINSPRING_STORE: "postgres://db/x", MAINSPRING_GRPC: "10.0.0.1:8081" };
    assert.throws(() => loadConfig(cluster), /MAINSPRING_CLUSTER_SECRET must be set/);
    loadConfig({ ...cluster, MAINSPRING_CLUSTER_SECRET: "s".repeat(16) });
    loadConfig({ ...cluster, MAINSPRING_API_KEY: "k".repeat(16) });
  });
});
