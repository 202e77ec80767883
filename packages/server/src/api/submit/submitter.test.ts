import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import type { Submission, SubmitOutcome } from "../../ports/store.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { tenantOf } from "../../security/tenant.ts";
import { ProblemError } from "../http/errors.ts";
import { jobDefinition } from "./job-definition.ts";
import { newJob } from "./new-job.ts";
import { SUBMIT_LIMITS, Submitter } from "./submitter.ts";

/** A store that answers when the test says so. */
class SlowStore {
  readonly commits: { batch: readonly Submission[]; answer(): void; fail(): void }[] = [];

  submit(batch: readonly Submission[]): Promise<SubmitOutcome[]> {
    return new Promise((resolve, reject) => {
      const answer = () =>
        resolve(batch.map(({ jobs }) => ({ kind: "ACCEPTED", replayed: false, jobs: jobs.map(taken) })));
      this.commits.push({ batch, answer, fail: () => reject(new StoreUnavailable("gone")) });
    });
  }
}

const taken = ({ jobId, executionId }: Submission["jobs"][number]) => ({ jobId, executionId, deduplicated: false });

/** @param tenants names of tenants; left out: there is only `default` */
function scene(limits: Partial<typeof SUBMIT_LIMITS> = {}, tenants: readonly string[] = []) {
  const runtime = new ManualRuntime();
  const store = new SlowStore();
  const counted: string[] = [];
  const metrics = {
    request: () => {},
    submitted: () => {},
    requestsEnded: () => {},
    submitCommit: ({ jobs }: { jobs: number }) => counted.push(`commit of ${jobs}`),
    storeOutage: () => counted.push("outage"),
    text: async () => ({ contentType: "", body: "" }),
  };
  const deps = { store, runtime, metrics, written: () => null };
  const known = { get: () => undefined, hasSeveral: tenants.length > 0 };
  const submitter = new Submitter({ ...deps, tenants: known }, { ...SUBMIT_LIMITS, ...limits });
  const submit = (jobs = 1, payload: Buffer | null = null, tenant: string | null = null) => {
    const definition = jobDefinition({ target: { handler: "echo" } }, 0);
    const make = () => newJob(tenantOf(tenant), definition, payload, DEFAULT_ORDERING, 0, runtime.uuid());
    return submitter.submit({ idempotency: null, jobs: Array.from({ length: jobs }, make) });
  };
  /** Ends one turn of the event loop. */
  const turn = () => runtime.advance(0);
  return { runtime, store, counted, submit, turn };
}

const sizes = (store: SlowStore) => store.commits.map(({ batch }) => batch.length);

describe("the submitter", () => {
  it("asks an idle store at once, and gathers what comes while it is asked", async () => {
    const { store, counted, submit, turn } = scene();
    const answers = [submit()];
    await turn();
    for (let late = 0; late < 11; late++) {
      answers.push(submit());
      await turn();
    }
    assert.deepEqual(sizes(store), [1]);
    store.commits[0]?.answer();
    await settled();
    assert.deepEqual(sizes(store), [1, 11]);
    store.commits[1]?.answer();
    const outcomes = await Promise.all(answers);
    assert.ok(outcomes.every(({ kind }) => kind === "ACCEPTED"));
    assert.deepEqual(counted, ["commit of 1", "commit of 11"]);
  });

  it("takes together what comes in one turn of the loop", async () => {
    const { store, submit, turn } = scene();
    for (let caller = 0; caller < 12; caller++) void submit();
    assert.deepEqual(sizes(store), []);
    await turn();
    assert.deepEqual(sizes(store), [12]);
  });

  it("begins one commit a turn, because making one takes a good part of it", async () => {
    const { runtime, store, submit } = scene({ commitJobs: 2, crowdJobs: 2 });
    const ends: (() => void)[] = [];
    Object.assign(runtime, { defer: (run: () => void) => void ends.push(run) });
    for (let caller = 0; caller < 3; caller++) void submit(2);
    for (const commits of [1, 2, 2]) {
      for (const end of ends.splice(0)) end();
      assert.equal(store.commits.length, commits);
    }
  });

  it("does not wait for an answer where many jobs wait, but for no more than two", async () => {
    const { store, submit, turn } = scene({ crowdJobs: 3 });
    for (const jobs of [1, 2, 1, 5]) {
      void submit(jobs);
      await turn();
    }
    assert.deepEqual(sizes(store), [1, 2]);
    store.commits[1]?.answer();
    await settled();
    assert.deepEqual(sizes(store), [1, 2, 1]);
  });

  it("answers thousands whose commit is through some in each turn of the loop, also where it failed", async () => {
    for (const end of ["answer", "fail"] as const) {
      const { store, submit, turn } = scene();
      let settledCount = 0;
      const count = () => void settledCount++;
      for (let caller = 0; caller < 450; caller++) void submit().then(count, count);
      await turn();
      store.commits[0]?.[end]();
      await settled();
      assert.equal(settledCount, 200);
      await turn();
      assert.equal(settledCount, 450);
    }
  });

  it("gives everybody his own answer", async () => {
    const { store, submit, turn } = scene();
    const answers = [submit()];
    await turn();
    answers.push(submit(2), submit(3));
    store.commits[0]?.answer();
    await settled();
    store.commits[1]?.answer();
    const counts = (await Promise.all(answers)).map((outcome) => outcome.kind === "ACCEPTED" && outcome.jobs.length);
    assert.deepEqual(counts, [1, 2, 3]);
  });

  it("divides a long queue into commits of bounded size, but no submission", async () => {
    const { store, submit, turn } = scene({ commitsInFlight: 1, commitJobs: 5, commitBytes: 100 });
    void submit();
    await turn();
    for (const jobs of [3, 2, 9, 1]) void submit(jobs);
    void submit(1, Buffer.alloc(90));
    void submit(1, Buffer.alloc(20));
    for (let commit = 0; commit < 5; commit++) {
      store.commits[commit]?.answer();
      await settled();
    }
    const jobs = store.commits.map(({ batch }) => batch.map((submission) => submission.jobs.length));
    assert.deepEqual(jobs, [[1], [3, 2], [9], [1, 1], [1]]);
  });

  it("turns submits away while too much waits, and takes them again later", async () => {
    const { store, submit, turn } = scene({ jobs: 3, bytes: 100 });
    const refused = (error: unknown) =>
      error instanceof ProblemError && error.problem.status === 429 && error.headers["retry-after"] === "1";
    const first = [submit(2)];
    await turn();
    first.push(submit(1));
    await assert.rejects(submit(), refused);
    store.commits[0]?.answer();
    await first[0];
    await settled();
    void submit(1, Buffer.alloc(100));
    await assert.rejects(submit(1, Buffer.alloc(1)), refused);
  });

  it("takes a submission that is larger than the bounds if it is alone", async () => {
    const { store, submit, turn } = scene({ jobs: 3 });
    const answer = submit(50);
    await turn();
    store.commits[0]?.answer();
    assert.equal((await answer).kind, "ACCEPTED");
  });

  it("tells all of a commit that the store did not answer, and goes on", async () => {
    const { store, counted, submit, turn } = scene();
    const answers = [submit()];
    await turn();
    answers.push(submit(), submit());
    store.commits[0]?.answer();
    await settled();
    store.commits[1]?.fail();
    const results = await Promise.allSettled(answers);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected"],
    );
    const later = submit();
    await turn();
    store.commits[2]?.answer();
    assert.equal((await later).kind, "ACCEPTED");
    assert.deepEqual(counted, ["commit of 1", "outage", "commit of 1"]);
  });

  it("lets a tenant fill at most half of what is free beside others, and takes one submission of each", async () => {
    const { store, submit, turn } = scene({ jobs: 100, commitJobs: 10 }, ["noisy", "quiet"]);
    const answers = Array.from({ length: 50 }, () => submit(1, null, "noisy"));
    const refusal = { name: "ProblemError", message: "too many submits wait for the store" };
    // A submit that is taken waits for the store, which does not answer yet.
    const refused = async (answer: Promise<unknown>) =>
      assert.rejects(Promise.race([answer, settled().then(() => "it was taken")]), refusal);
    await refused(submit(1, null, "noisy"));
    answers.push(submit(45, null, "quiet"));
    await refused(submit(5, null, "quiet"));
    answers.push(submit(4, null, "third"));
    await turn();
    const answerAll = async () => {
      for (const commit of store.commits) {
        commit.answer();
        await settled();
        await turn();
      }
    };
    await answerAll();
    await Promise.all(answers);
    // Nobody has anything in the queue any more, so it has room again.
    const later = submit(100, null, "noisy");
    await turn();
    await answerAll();
    assert.equal((await later).kind, "ACCEPTED");
  });
});
