import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { POOL_LIMIT } from "../load/pool-limit.ts";
import { judge, type RuleName } from "./judge.ts";
import { NOT_SHOWN, rulesBroken } from "./testing/rules-broken.ts";
import { Story } from "./testing/story.ts";

describe("the judge has nothing to say against", () => {
  it("a job that succeeds", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a job that another worker does again after the first one was declared lost, whatever the first one returns", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 60_000, as: "WORKER_LOST", declaredAt: 30_000 });
    job.ran({ attempt: 2, pid: 2, from: 30_200, to: 30_300 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a zombie that begins late: its assignment lay unread until the worker went on", () => {
    const story = new Story();
    const job = story.job("a", { uniqueKey: "u", concurrency: { key: "k", limit: 1 } }).submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 30_250, to: 30_350, as: "WORKER_LOST", declaredAt: 30_000 });
    job.ran({ attempt: 2, pid: 2, from: 30_200, to: 30_300 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a job that nobody acknowledged, whether it took effect or not", () => {
    const story = new Story();
    story.job("a").intended(0);
    story.job("b").intended(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a job that fails as often as it should", () => {
    const story = new Story();
    const job = story.job("a", { failures: { least: 1, most: 1 } }).submitted(0);
    job.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ran({ attempt: 2, from: 30, to: 40 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a job that is DEAD because its worker was lost too often", () => {
    const story = new Story();
    story
      .job("a", { maxLost: 1 })
      .submitted(0)
      .ran({ attempt: 1, from: 10, to: null, as: "WORKER_LOST", declaredAt: 5_000 })
      .ends("DEAD");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a cancellation that stops what runs", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).cancelled({ at: 50, answer: "REQUESTED" });
    job.ran({ attempt: 1, from: 10, to: 60, as: "CANCELLED", declaredAt: 60 }).ends("CANCELLED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("two jobs of one unique key, one after the other, and a third that is told of the second", () => {
    const story = new Story();
    story.job("a", { uniqueKey: "u" }).submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    const second = story.job("b", { uniqueKey: "u" }).submitted(30);
    second.ran({ attempt: 1, from: 40, to: 50 }).ends("SUCCEEDED");
    story.job("c", { uniqueKey: "u" }).deduplicated(45, second);
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });
});

describe("the judge finds", () => {
  it("a job that was accepted and is not there", () => {
    const story = new Story();
    story.job("a").submitted(0);
    assert.deepEqual(rulesBroken(story.evidence()), ["acceptedJobsExist", "ordersTakeEffectOnce"]);
  });

  it("a job that is not final", () => {
    const story = new Story();
    story.job("a").submitted(0).ends("PENDING");
    assert.ok(rulesBroken(story.evidence()).includes("everythingIsFinal"));
  });

  it("a job that was made twice", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    story.job("a", {}, "a-again").intended(1).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["ordersTakeEffectOnce"]);
  });

  it("a repeat that was answered with another execution", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    story.job("a", {}, "elsewhere").answered(100);
    assert.deepEqual(rulesBroken(story.evidence()), ["acceptedJobsExist", "ordersTakeEffectOnce"]);
  });

  it("an execution that nobody asked for", () => {
    const story = new Story();
    story.job("a").ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["ordersTakeEffectOnce"]);
  });

  it("the stale result of a worker that was declared lost", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 200, as: "WORKER_LOST", declaredAt: 100, returns: "stale" });
    job.ran({ attempt: 2, pid: 2, from: 210, to: 220, returns: "right" }).ends("SUCCEEDED", "stale");
    assert.deepEqual(rulesBroken(story.evidence()), ["resultsAreCurrent"]);
  });

  it("a result that nobody returned", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED", "invented");
    assert.deepEqual(rulesBroken(story.evidence()), ["resultsAreCurrent"]);
  });

  it("a result of what did not succeed", () => {
    const story = new Story();
    const job = story.job("a", { state: "DEAD", failures: { least: 1, most: 1 } }).submitted(0);
    job.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ends("DEAD", "a value");
    assert.deepEqual(rulesBroken(story.evidence()), ["onlySuccessHasResult"]);
  });

  it("a payload that is not the one that was submitted", () => {
    const story = new Story();
    story.job("a", { payloadSha: "another" }).submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["payloadsAreIntact"]);
  });

  it("two attempts at once, of which none was declared lost", () => {
    const story = new Story();
    const job = story.job("a", { failures: { least: 1, most: 1 } }).submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 100, as: "FAILED" });
    job.ran({ attempt: 2, pid: 2, from: 50, to: 60 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["attemptsDoNotOverlap"]);
  });

  it("a second attempt that began before the first one was declared lost", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 60_000, as: "WORKER_LOST", declaredAt: 30_000 });
    job.ran({ attempt: 2, pid: 2, from: 20_000, to: 20_100 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["attemptsDoNotOverlap"]);
  });

  it("an attempt that ran twice", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).ran({ attempt: 1, pid: 1, from: 10, to: 20, returns: "x" });
    job.ranUnseen({ attempt: 1, pid: 2, from: 30, to: 40, returns: "x" }).ends("SUCCEEDED", "x");
    assert.deepEqual(rulesBroken(story.evidence()), ["tokensAreUsedOnce"]);
  });

  it("a handler that ran, and its execution does not know of it", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).ranUnseen({ attempt: 1, from: 10, to: 20 });
    job.ran({ attempt: 2, from: 30, to: 40 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["runsAreAccountedFor"]);
  });

  it("a handler that ran in an attempt which is said to have been handed back", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20, as: "RELEASED" });
    job.ran({ attempt: 2, from: 30, to: 40 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["runsAreAccountedFor"]);
  });

  it("a success without a handler that ran", () => {
    const story = new Story();
    story.job("a").submitted(0).recorded({ attempt: 1, as: "SUCCEEDED" }).ends("SUCCEEDED", "x");
    assert.deepEqual(rulesBroken(story.evidence()), ["resultsAreCurrent", "endsAreReal"]);
  });

  it("attempts out of order", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).recorded({ attempt: 2, as: "RELEASED" });
    job.ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["attemptsGrow"]);
  });

  it("more failures and losses than there may be, and counts that do not agree with the attempts", () => {
    const story = new Story();
    const job = story.job("a", { state: "DEAD", maxAttempts: 1, failures: { least: 1, most: 2 } }).submitted(0);
    job.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ran({ attempt: 2, from: 30, to: 40, as: "FAILED" });
    job.ends("DEAD");
    const evidence = story.evidence();
    assert.deepEqual(rulesBroken(evidence), ["budgetsHold"]);
    assert.deepEqual(
      judge(evidence, "crash")
        .violations.filter(({ rule }) => rule === "budgetsHold")
        .map(({ what }) => what),
      ["execution a failed 2 times, too often"],
    );
    job.counts({ failures: 1, lost: 3 });
    const said = judge(story.evidence(), "crash").violations.filter(({ rule }) => rule === "budgetsHold");
    assert.equal(said.length, 2);
  });

  it("another outcome than the job had to have", () => {
    const story = new Story();
    const dead = story.job("a").submitted(0);
    for (const attempt of [1, 2, 3, 4, 5]) dead.ran({ attempt, from: attempt, to: attempt + 0.5, as: "FAILED" });
    dead.ends("DEAD");
    story.job("b").submitted(0).ends("CANCELLED");
    const { violations } = judge(story.evidence(), "crash");
    assert.equal(violations.filter(({ rule }) => rule === "outcomesAreAsExpected").length, 2);
  });

  it("too few failures of a job that had to fail", () => {
    const story = new Story();
    const job = story.job("a", { failures: { least: 2, most: 2 } }).submitted(0);
    job.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ran({ attempt: 2, from: 30, to: 40 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["outcomesAreAsExpected"]);
  });

  it("a job that began before its time", () => {
    const story = new Story();
    story.job("a", { delayMs: 5_000 }).submitted(0).ran({ attempt: 1, from: 1_000, to: 1_010 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["nothingIsEarly"]);
  });

  it("a cancelled job that ran nevertheless", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).cancelled({ at: 50, answer: "CANCELLED" });
    job.ran({ attempt: 1, from: 70, to: 80 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["cancellationsHold"]);
  });

  it("a job that was skipped too early, or although it ran", () => {
    const story = new Story();
    story.job("a", { expiresMs: 1_000 }).submitted(0).ends("SKIPPED", undefined, 500);
    const ran = story.job("b", { expiresMs: 1_000, failures: { least: 1, most: 1 } }).submitted(0);
    ran.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ends("SKIPPED", undefined, 1_500);
    story.job("c", { expiresMs: 1_000 }).submitted(0).ends("SKIPPED", undefined, 1_500);
    const evidence = story.evidence();
    assert.deepEqual(rulesBroken(evidence), ["onlyTheExpiredIsSkipped"]);
    assert.equal(
      judge(evidence, "crash").violations.filter(({ rule }) => rule === "onlyTheExpiredIsSkipped").length,
      2,
    );
  });

  it("a cancellation that was forgotten", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).cancelled({ at: 15, answer: "REQUESTED" });
    job.ran({ attempt: 1, pid: 1, from: 10, to: 20, as: "WORKER_LOST", declaredAt: 20 });
    for (const attempt of [2, 3]) {
      const from = attempt * 1_000;
      job.ran({ attempt, from, to: from + 10, as: "WORKER_LOST", declaredAt: from + 10 });
    }
    job.ran({ attempt: 4, from: 8_000, to: 8_010 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["cancellationsHold"]);
  });

  it("more attempts of a concurrency key at once than may be", () => {
    const story = new Story();
    const concurrency = { key: "k", limit: 2 };
    for (const key of ["a", "b", "c"]) {
      story.job(key, { concurrency }).submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    }
    assert.deepEqual(rulesBroken(story.evidence()), ["concurrencyIsLimited"]);
  });

  it("more of the pool at once than it allows", () => {
    const story = new Story();
    for (let i = 0; i <= POOL_LIMIT; i++) {
      story.job(`job-${i}`).submitted(0).ran({ attempt: 1, from: i, to: 1_000 }).ends("SUCCEEDED");
    }
    assert.deepEqual(rulesBroken(story.evidence()), ["poolIsLimited"]);
  });

  it("no more of them where one is a zombie", () => {
    const story = new Story();
    const concurrency = { key: "k", limit: 1 };
    const job = story.job("a", { concurrency }).submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 90_000, as: "WORKER_LOST", declaredAt: 30_000 });
    job.ran({ attempt: 2, pid: 2, from: 40_000, to: 40_010 }).ends("SUCCEEDED");
    story.job("b", { concurrency }).submitted(0).ran({ attempt: 1, from: 35_000, to: 36_000 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("two executions of a unique key that were alive at once", () => {
    const story = new Story();
    const first = story.job("a", { uniqueKey: "u", failures: { least: 1, most: 1 } }).submitted(0);
    first.ran({ attempt: 1, from: 10, to: 20, as: "FAILED" }).ran({ attempt: 2, from: 100, to: 110 }).ends("SUCCEEDED");
    story.job("b", { uniqueKey: "u" }).submitted(30).ran({ attempt: 1, from: 40, to: 50 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["uniqueKeysAreUnique"]);
  });

  it("who was told of a job that has another unique key", () => {
    const story = new Story();
    const other = story.job("a", { uniqueKey: "u" }).submitted(0);
    other.ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    story.job("b", { uniqueKey: "w" }).deduplicated(5, other);
    assert.deepEqual(rulesBroken(story.evidence()), ["duplicatesShareTheKey"]);
  });

  it("a final state that changed after somebody had read it, or after all was quiet", () => {
    const story = new Story();
    const job = story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20, returns: "x" }).ends("SUCCEEDED", "x");
    job.seenFinal(30, "CANCELLED");
    const evidence = story.evidence();
    assert.deepEqual(rulesBroken(evidence), ["finalStatesAbsorb"]);
    const later = evidence.listedLater.map((listed) => ({ ...listed, state: "DEAD" as const }));
    assert.equal(judge({ ...evidence, listedLater: later }, "crash").violations.filter(isAboutChange).length, 2);
    assert.equal(judge({ ...evidence, listedLater: [] }, "crash").violations.filter(isAboutChange).length, 2);
  });

  it("workers that were declared lost although nobody had touched them", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    for (const pid of [1, 2]) {
      job.ran({
        attempt: pid,
        pid,
        from: pid * 100,
        to: pid * 100 + 50,
        as: "WORKER_LOST",
        declaredAt: pid * 100 + 10,
      });
    }
    job.ran({ attempt: 3, pid: 3, from: 300, to: 310 }).ends("SUCCEEDED");
    assert.deepEqual(rulesBroken(story.evidence()), ["theLivingAreKept"]);
    const killed = { ...story.evidence(), faults: [{ event: "WORKER_KILLED" as const, at: 205, pid: 2 }] };
    assert.deepEqual(rulesBroken(killed), []);
  });

  it("a process that ended by itself", () => {
    const evidence = { ...new Story().evidence(), unaskedDeaths: ["the server ended with code 1"] };
    assert.deepEqual(rulesBroken(evidence), ["nobodyDiesUnasked"]);
  });
});

describe("the judge wants to see", () => {
  it("every fault under load, a zombie, and work, steps, signals and runs that outlived a server or a worker, a retry, a pause, and requests of each end", () => {
    const { violations } = judge({ ...new Story().evidence(), requests: [] }, "crash");
    assert.deepEqual([...new Set(violations.map(({ rule }) => rule))], NOT_SHOWN);
    assert.equal(violations.length, 21);
  });

  it("a kill that hit something: one of an idle server does not count", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    const seen = (at: number) => {
      const faults = [at, at + 1].map((at) => ({ event: "SERVER_KILLED" as const, at, pid: 9 }));
      const { violations } = judge({ ...story.evidence(), faults }, "crash");
      return !violations.some(({ what }) => what.startsWith("SERVER_KILLED"));
    };
    assert.deepEqual([seen(12), seen(100)], [true, false]);
  });

  it("a success that had begun before the server died, and ended after that", () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    const seen = (at: number) => {
      const { violations } = judge({ ...story.evidence(), faults: [{ event: "SERVER_KILLED", at, pid: 9 }] }, "crash");
      return !violations.some(({ rule }) => rule === "attemptsOutliveTheServer");
    };
    assert.deepEqual([seen(5), seen(15), seen(25)], [false, true, false]);
  });

  it("the late result of a worker that was stopped", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    job.ran({ attempt: 1, pid: 1, from: 10, to: 40_000, as: "WORKER_LOST", declaredAt: 30_000 });
    job.ran({ attempt: 2, pid: 2, from: 30_200, to: 30_300 }).ends("SUCCEEDED");
    const faults = [
      { event: "WORKER_STOPPED" as const, at: 50, pid: 1 },
      { event: "WORKER_CONTINUED" as const, at: 39_000, pid: 1 },
    ];
    const { violations, figures } = judge({ ...story.evidence(), faults }, "crash");
    assert.ok(!violations.some(({ rule }) => rule === "zombiesCameBack"));
    assert.deepEqual([figures["zombies"], figures["refused"], figures["lost"]], [1, 1, 1]);
  });
});

function isAboutChange({ rule }: { rule: RuleName }): boolean {
  return rule === "finalStatesAbsorb";
}
