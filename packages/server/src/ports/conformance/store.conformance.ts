import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { UnservedQuery } from "../store-errors.ts";
import { auditConformance } from "./store-audit.conformance.ts";
import { birthsConformance } from "./store-births.conformance.ts";
import { commitConformance } from "./store-commit.conformance.ts";
import { deadLettersConformance } from "./store-dead-letters.conformance.ts";
import { eventsConformance } from "./store-events.conformance.ts";
import { executionRunsConformance } from "./store-execution-runs.conformance.ts";
import { fieldsConformance } from "./store-fields.conformance.ts";
import { flowsConformance } from "./store-flows.conformance.ts";
import { handlersConformance } from "./store-handlers.conformance.ts";
import { ingestConformance } from "./store-ingest.conformance.ts";
import { jobExecutionsConformance } from "./store-job-executions.conformance.ts";
import { jobsConformance } from "./store-jobs.conformance.ts";
import { keyedNodesConformance } from "./store-keyed-nodes.conformance.ts";
import { keysConformance } from "./store-keys.conformance.ts";
import { ledgerConformance } from "./store-ledger.conformance.ts";
import { logsConformance } from "./store-logs.conformance.ts";
import { mapsConformance } from "./store-maps.conformance.ts";
import { partsConformance } from "./store-parts.conformance.ts";
import { pausedRunsConformance } from "./store-paused-runs.conformance.ts";
import { queriesConformance } from "./store-queries.conformance.ts";
import { quotasConformance } from "./store-quotas.conformance.ts";
import { readConformance } from "./store-read.conformance.ts";
import { recurrencesConformance } from "./store-recurrences.conformance.ts";
import { recurringJobsConformance } from "./store-recurring-jobs.conformance.ts";
import { requestsConformance } from "./store-requests.conformance.ts";
import { retriesConformance } from "./store-retries.conformance.ts";
import { runQueriesConformance } from "./store-run-queries.conformance.ts";
import { runsConformance } from "./store-runs.conformance.ts";
import { type MakeStore, Scene, type StoreUnderTest } from "./store-scene.conformance.ts";
import { signalsConformance } from "./store-signals.conformance.ts";
import { stepsConformance } from "./store-steps.conformance.ts";
import { subWorkflowsConformance } from "./store-sub-workflows.conformance.ts";
import { submitConformance } from "./store-submit.conformance.ts";
import { tenantsConformance } from "./store-tenants.conformance.ts";
import { timeZonesConformance } from "./store-time-zones.conformance.ts";
import { waitingRunsConformance } from "./store-waiting-runs.conformance.ts";
import { watchedJobsConformance } from "./store-watched-jobs.conformance.ts";
import { webhooksConformance } from "./store-webhooks.conformance.ts";

/**
 * Behaviour of every store. Each test gets its own store.
 * @param makeStore opens an empty store with partitions for the ids that its runtime generates now
 */
export function storeConformance(name: string, makeStore: MakeStore): void {
  describe(`the store port on ${name}`, () => {
    let underTest: StoreUnderTest;
    let scene: Scene;
    const asked = new Set<UnservedQuery>();
    beforeEach(async () => {
      underTest = await makeStore();
      scene = await Scene.open(underTest);
    });
    afterEach(async () => {
      for (const query of scene.asked) asked.add(query);
      await underTest.close();
    });

    describe("fields", () => fieldsConformance(() => scene));
    describe("submit", () => submitConformance(() => scene));
    describe("commit", () => commitConformance(() => scene));
    describe("reading for the owner", () => readConformance(() => scene));
    describe("reading for the owner by turns of flows", () => flowsConformance(() => scene));
    describe("recurring jobs for the owner", () => recurrencesConformance(() => scene));
    describe("runs of workflows for the owner", () => runsConformance(() => scene));
    describe("maps of workflows", () => mapsConformance(() => scene));
    describe("parts of workflow runs", () => partsConformance(() => scene));
    describe("births of nodes", () => birthsConformance(() => scene));
    describe("runs of workflows that wait", () => waitingRunsConformance(() => scene));
    describe("paused runs of workflows", () => pausedRunsConformance(() => scene));
    describe("changes of jobs", () => jobsConformance(() => scene));
    describe("nodes with concurrency keys", () => keyedNodesConformance(() => scene));
    describe("sub-workflows", () => subWorkflowsConformance(() => scene));
    describe("executions of a job", () => jobExecutionsConformance(() => scene));
    describe("changes of recurring jobs", () => recurringJobsConformance(() => scene));
    describe("recurring jobs of the whole store", () => watchedJobsConformance(() => scene));
    describe("ledger", () => ledgerConformance(() => scene));
    describe("dead letters", () => deadLettersConformance(() => scene));
    describe("runs over executions", () => executionRunsConformance(() => scene));
    describe("time zone data", () => timeZonesConformance(() => scene));
    describe("policies of handlers", () => handlersConformance(() => scene));
    describe("records of handlers", () => stepsConformance(() => scene));
    describe("suspensions and signals", () => signalsConformance(() => scene));
    describe("log lines of attempts", () => logsConformance(() => scene));
    describe("webhooks", () => webhooksConformance(() => scene, false));
    describe("API keys", () => keysConformance(() => scene));
    describe("audit", () => auditConformance(() => scene));
    describe("tenants", () => tenantsConformance(() => scene));
    describe("quotas", () => quotasConformance(() => scene));
    describe("requests for jobs", () =>
      requestsConformance(
        () => scene,
        () => underTest.addRequests,
      ));
    describe("positions in the log of requests", () => ingestConformance(() => scene));
    describe("retries of runs", () => retriesConformance(() => scene));
    describe("queries of runs", () => runQueriesConformance(() => scene));
    describe("queries", () => queriesConformance(() => scene));
    it("leaves no query unserved that no case needs", () => {
      assert.deepEqual(
        [...(underTest.unserved ?? [])].filter((query) => !asked.has(query)),
        [],
      );
    });
  });

  describe(`lifecycle events in ${name}`, () => {
    let underTest: StoreUnderTest;
    let scene: Scene;
    beforeEach(async () => {
      underTest = await makeStore(true);
      scene = await Scene.open(underTest);
    });
    afterEach(() => underTest.close());

    eventsConformance(() => scene);
    describe("and webhooks", () => webhooksConformance(() => scene, true));
  });
}
