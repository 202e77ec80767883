import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workerIdOf } from "@mainspring/proto";
import { ownedPool } from "../domain/pool.ts";
import type { Principal } from "../ports/authenticator.ts";
import type { HandlerOutput, ToApi } from "../ports/messages.ts";
import { tenantOf } from "../security/tenant.ts";
import {
  assignment,
  executionId,
  held,
  NODE,
  Stage,
  stageWithWorker,
  tokenOf,
  type WorkerEnd,
} from "./gateway.fixture.ts";
import { OUTPUT_ALL_MAX_CHARS, OUTPUT_MAX_ITEMS } from "./limits.ts";

const API = "node-api";

function scene(): { stage: Stage; worker: WorkerEnd } {
  const { stage, worker } = stageWithWorker();
  stage.assign(assignment(1), assignment(2));
  return { stage, worker };
}

const say = (worker: WorkerEnd, n: number, ...lines: string[]) =>
  worker.say({ logs: lines.map((line) => ({ token: tokenOf(assignment(n)), level: "info", line })) });
const progress = (worker: WorkerEnd, n: number, fraction: number) =>
  worker.say({ progress: [{ token: tokenOf(assignment(n)), fraction, message: "going" }] });
const follow = (stage: Stage, n: number, after = 0) =>
  stage.bus.deliver(API, [{ kind: "FOLLOW", follows: [{ executionId: executionId(n), after }] }]);

const keyOf = (tenant: string): Principal => ({
  ...{ keyId: tenant, source: "STORE", kind: "WORKER", tenant: tenantOf(tenant) },
  ...{ scopes: new Set(["worker:serve"]), pools: ["*"] },
});

/** Handler output that was sent to the api since the last call. */
function heard(stage: Stage): HandlerOutput[] {
  const told = stage.answers().flatMap((message: ToApi) => (message.kind === "CHATTER" ? message.items : []));
  stage.bus.sent = [];
  return told;
}
const words = (items: HandlerOutput[]) => items.map((item) => (item.kind === "LOG" ? item.line : `${item.fraction}`));

describe("what handlers say while they run", () => {
  it("goes to those who follow the execution, and to nobody else", () => {
    const { stage, worker } = scene();
    follow(stage, 1);
    say(worker, 1, "a", "b");
    say(worker, 2, "not asked for");
    progress(worker, 1, 0.25);
    const items = heard(stage);
    assert.deepEqual(words(items), ["a", "b", "0.25"]);
    const seqs = items.map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].sort((a, b) => a - b),
      "each has a place of its own",
    );
    stage.bus.deliver(API, [{ kind: "UNFOLLOW", executionIds: [executionId(1)] }]);
    say(worker, 1, "c");
    assert.deepEqual(heard(stage), []);
  });

  it("is kept for who comes later, and for whom some of it was lost on the way", () => {
    const { stage, worker } = scene();
    progress(worker, 1, 0.1);
    say(worker, 1, "a", "b");
    progress(worker, 1, 0.2);
    follow(stage, 1);
    const items = heard(stage);
    assert.deepEqual(words(items), ["a", "b", "0.2"], "of progress the latest");
    follow(stage, 1, items[0]?.seq ?? 0);
    assert.deepEqual(words(heard(stage)), ["b", "0.2"]);
  });

  it("counts only of attempts that the worker holds", () => {
    const { stage, worker } = scene();
    for (const n of [1, 3]) follow(stage, n);
    say(worker, 3, "an execution that it was never given");
    worker.say({
      logs: [{ token: { ...tokenOf(assignment(1)), attempt: 2 }, level: "info", line: "another attempt" }],
    });
    worker.say({ logs: [{ level: "info", line: "no token" }] });
    assert.deepEqual(heard(stage), []);
  });

  it("of a worker that a tenant owns goes to followers of its executions alone, and displaces no other output", () => {
    const stage = new Stage(NODE, undefined, undefined, undefined, undefined, undefined, {
      ...{ poolOf: (tenant, name) => ownedPool(tenant, name), allowsPool: () => true },
    });
    stage.own();
    const [own, forger] = ["acme", "other"].map((name) => {
      const secret = `the-secret-of-workers-of-${name}`;
      const hello = { workerId: workerIdOf(secret) ?? "", secret, slots: 2, holds: [held(1)] };
      return stage.connect(keyOf(name)).hello(hello);
    });
    assert.ok(own && forger);
    const followAs = (tenant?: string) => {
      const followed = { executionId: executionId(1), after: 0 };
      const follows = [tenant === undefined ? followed : { ...followed, tenant }];
      stage.bus.deliver(API, [{ kind: "FOLLOW", follows }]);
    };
    const token = tokenOf(assignment(1));
    const speak = (worker: WorkerEnd, line: string, fraction: number) =>
      worker.say({ logs: [{ token, level: "info", line }], progress: [{ token, fraction, message: "" }] });
    speak(own, "own", 0.5);
    speak(forger, "forged", 0.75);
    followAs("acme");
    speak(forger, "forged again", 0.8);
    assert.deepEqual(words(heard(stage)), ["own", "0.5"]);
    followAs();
    assert.deepEqual(heard(stage), []);
    const asked = { request: "r", executionId: executionId(1), tenant: "acme" };
    stage.bus.deliver(API, [{ kind: "ASK_PROGRESS", ...asked }]);
    const [answer] = stage.answers();
    assert.equal(answer?.kind === "PROGRESS" ? answer.progress?.fraction : null, 0.5);
  });

  it("lapses for who does not say again that he follows", () => {
    const { stage, worker } = scene();
    follow(stage, 1);
    for (let second = 0; second < 12; second++) {
      stage.runtime.advance(1_000);
      worker.heartbeat();
    }
    heard(stage);
    say(worker, 1, "to nobody");
    assert.deepEqual(heard(stage), []);
  });

  it("tells the latest progress to who asks", () => {
    const { stage, worker } = scene();
    progress(worker, 1, 7);
    for (const n of [1, 2]) {
      stage.bus.deliver(API, [{ kind: "ASK_PROGRESS", request: `r${n}`, executionId: executionId(n) }]);
    }
    const told = stage
      .answers()
      .map((answer) => (answer.kind === "PROGRESS" ? (answer.progress?.fraction ?? null) : answer));
    assert.deepEqual(told, [1, null], "what is beyond 1 is cut");
  });

  it("is bounded for each execution and for all", () => {
    const { stage, worker } = scene();
    say(worker, 1, ...Array.from({ length: OUTPUT_MAX_ITEMS + 10 }, (_, i) => `${i}`));
    follow(stage, 1);
    const kept = words(heard(stage));
    assert.deepEqual([kept.length, kept[0]], [OUTPUT_MAX_ITEMS, "10"], "the oldest lines go first");
    const long = "x".repeat(8_000);
    for (let n = 0; n < OUTPUT_ALL_MAX_CHARS / 8_000; n++) {
      worker.say({ logs: [{ token: tokenOf(assignment(1)), level: "info", line: long }] });
    }
    heard(stage);
    follow(stage, 1);
    assert.ok(heard(stage).length <= (256 * 1024) / 8_000);
  });
});
