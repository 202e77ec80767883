import { afterEach, beforeEach, describe } from "node:test";
import { commitConformance } from "./store-commit.conformance.ts";
import { deadLettersConformance } from "./store-dead-letters.conformance.ts";
import { fieldsConformance } from "./store-fields.conformance.ts";
import { jobsConformance } from "./store-jobs.conformance.ts";
import { ledgerConformance } from "./store-ledger.conformance.ts";
import { queriesConformance } from "./store-queries.conformance.ts";
import { readConformance } from "./store-read.conformance.ts";
import { recurrencesConformance } from "./store-recurrences.conformance.ts";
import { recurringJobsConformance } from "./store-recurring-jobs.conformance.ts";
import { type MakeStore, Scene, type StoreUnderTest } from "./store-scene.conformance.ts";
import { submitConformance } from "./store-submit.conformance.ts";
import { timeZonesConformance } from "./store-time-zones.conformance.ts";
import { watchedJobsConformance } from "./store-watched-jobs.conformance.ts";

/**
 * Behaviour of every store. Each test gets a store of its own.
 * @param makeStore an empty store, opened, with months for the ids that its runtime gives out now
 */
export function storeConformance(name: string, makeStore: MakeStore): void {
  describe(`the store port on ${name}`, () => {
    let underTest: StoreUnderTest;
    let scene: Scene;
    beforeEach(async () => {
      underTest = await makeStore();
      scene = await Scene.open(underTest);
    });
    afterEach(() => underTest.close());

    describe("fields", () => fieldsConformance(() => scene));
    describe("submit", () => submitConformance(() => scene));
    describe("commit", () => commitConformance(() => scene));
    describe("reading for the owner", () => readConformance(() => scene));
    describe("recurring jobs for the owner", () => recurrencesConformance(() => scene));
    describe("changes of jobs", () => jobsConformance(() => scene));
    describe("changes of recurring jobs", () => recurringJobsConformance(() => scene));
    describe("recurring jobs of the whole store", () => watchedJobsConformance(() => scene));
    describe("ledger", () => ledgerConformance(() => scene));
    describe("dead letters", () => deadLettersConformance(() => scene));
    describe("time zone data", () => timeZonesConformance(() => scene));
    describe("queries", () => queriesConformance(() => scene));
  });
}
