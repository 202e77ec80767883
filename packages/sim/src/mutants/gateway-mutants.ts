import type { Mutant } from "./mutant.ts";

const GATEWAY = "packages/server/src/gateway";

/** Mutants in the gateway, and in the worker's side of its protocol. */
export const gatewayMutants: readonly Mutant[] = [
  {
    name: "credit lent twice",
    file: `${GATEWAY}/credits/credits.ts`,
    find: "const free = room - this.outstanding;",
    replace: "const free = room;",
    why: "slots that are lent and not used are lent again",
  },
  {
    name: "`>` for `>=` at an epoch",
    file: "packages/server/src/gateway/owners.ts",
    find: "return epoch >= (this.#shards[shard]?.epoch ?? 0);",
    replace: "return epoch > (this.#shards[shard]?.epoch ?? 0);",
    why: "every assignment of the present owner is dropped",
  },
  {
    name: "a stalled judge blames others",
    file: `${GATEWAY}/gateway.ts`,
    find: "if (this.#stallWatch.wasStalled(nowMs)) this.#forgive(nowMs);",
    replace: "",
    // A server that stalls for longer than some seconds has lost its connections before it declares a worker silent.
    also: [{ file: `${GATEWAY}/limits.ts`, find: "SILENT_MAX_MS = 30_000;", replace: "SILENT_MAX_MS = 10_500;" }],
    why: "a server that was held up declares all its workers lost",
  },
  {
    name: "silence is forgiven for ever",
    file: `${GATEWAY}/sessions/liveness.ts`,
    find: "if (nowMs - lastHeard.brokenAtMs < BROKEN_MAX_MS) return null;",
    replace: "if (nowMs > 0) return null;",
    why: "a worker that died is never declared lost",
    test: {
      file: "packages/server/src/gateway/sessions/liveness.test.ts",
      name: "takes a worker for lost 5 s after its connection broke",
    },
  },
  {
    name: "heartbeats are not heard",
    file: `${GATEWAY}/sessions/fleet.ts`,
    find: "    session.lastHeard.heardAtMs = this.#context.runtime.monotonicMs();\n",
    replace: "",
    why: "a worker that answers is taken for dead after 30 s",
  },
  {
    name: "undelivered is not handed back",
    file: `${GATEWAY}/sessions/reattach.ts`,
    find: "returnUndelivered(session, new Set(holds.map(keyOf)));",
    replace: "",
    why: "an assignment that broke with its connection is waited for for ever",
  },
  {
    name: "results are sent once",
    file: "packages/sdk/src/session/session.ts",
    find: "    this.#unsentLogs = [];\n    this.#resend();\n",
    replace: "    this.#unsentLogs = [];\n",
    // Otherwise the gateway asks for the results that the worker holds.
    also: [{ file: `${GATEWAY}/sessions/session.ts`, find: "    this.outgoing.resendResults = true;\n", replace: "" }],
    why: "a result that broke with its connection is never said again",
  },
  {
    name: "slots are not counted by the worker",
    file: "packages/sdk/src/handlers/executor.ts",
    find: "while (this.#occupied < this.#slots && this",
    replace: "while (this.#occupied <= this.#slots && this",
    why: "one handler more runs than there are slots",
  },
  {
    name: "a worker's next gateway speaks for the one before",
    file: "packages/server/src/engine/workers/gateway-messages.ts",
    find: "else if (assigned.account !== 0 || isAnswer || assigned.gateway === worker.gateway) missing.push(entry);",
    replace: "else missing.push(entry);",
    why: "what was sent to a worker through another gateway, and runs there, is given to the next one at once",
    test: {
      file: "packages/server/src/engine/ownership/takeover.test.ts",
      name: "does not believe a gateway that has not asked the worker: the attempt may be on its way through the other one",
    },
  },
  {
    name: "credit that went back counts against later work",
    file: `${GATEWAY}/credits/credit-allocator.ts`,
    find: "return account.declinedForMs > claim.sinceMs &&",
    replace: "return account.declinedAtMs > claim.sinceMs &&",
    why: "work that becomes ready just after its owner gave slots back waits up to a second beside free slots",
    test: {
      file: "packages/server/src/gateway/credits/credit-allocator.test.ts",
      name: "goes to an owner that gave slots back, where its work has come only after it was asked for them",
    },
  },
  {
    name: "stuck slots are lent",
    file: `${GATEWAY}/sessions/held.ts`,
    find: 'if (isStuck || state !== "FINISHED") this.#occupied += by;',
    replace: 'if (state !== "FINISHED" && state !== "OVER") this.#occupied += by;',
    why: "executions go to a worker whose slots are taken by handlers that do not end",
    test: {
      file: "packages/server/src/gateway/sessions/held.test.ts",
      name: "counts the slots of handlers that outlive their attempts, until they end",
    },
  },
  {
    name: "what has started is taken back",
    file: "packages/sdk/src/handlers/executor.ts",
    find: 'if (attempt.phase === "WAITING") return this.#finish(attempt, endingOfForce("RELEASED"));\n    // The report',
    replace:
      'if (attempt.phase !== "OVER") return this.#finish(attempt, endingOfForce("RELEASED"));\n    // The report',
    why: "an attempt that runs is given to another worker as well",
    test: {
      file: "packages/sdk/src/session/authority.test.ts",
      name: "ends as RELEASED where it waits, and says again that it runs where it does",
    },
  },
  {
    name: "a stall goes unnoticed",
    file: "packages/sdk/src/handlers/stall-guard.ts",
    find: "return beatMs !== 0 && ((nowMs - beatMs) | 0) > this.#stallMs;",
    replace: "return beatMs !== 0 && nowMs < 0;",
    why: "a worker that stood still runs what was given to others meanwhile",
    test: {
      file: "packages/sdk/src/session/authority.test.ts",
      name: "starts nothing that waited: others may have been given it",
    },
  },
  {
    name: "orders of older epochs are obeyed",
    file: `${GATEWAY}/owner-messages.ts`,
    find: "if (gateway !== node || !owners.isCurrent(shard, epoch)) return;",
    replace: "if (gateway !== node || (epoch < 0 && !owners.isCurrent(shard, epoch))) return;",
    why: "an owner that was overtaken still starts what its successor starts anew",
    test: {
      file: "packages/server/src/gateway/gateway.test.ts",
      name: "gets no assignment delivered of a shard that another owner has taken, whatever credit it names",
    },
  },
  {
    name: "an ended handler keeps its slot",
    file: `${GATEWAY}/sessions/held.ts`,
    find: 'if (held.state === "OVER") this.delete(held.token);',
    replace: 'if (held.state === "OVER") this.#stuck += 0;',
    why: "the gateway believes for ever that a handler goes on which has ended after its attempt",
  },
  {
    name: "attempts wait at a slow worker",
    file: "packages/server/src/gateway/sessions/take-back.ts",
    find: "takeBack(session, overdue, nowMs);",
    replace: "",
    why: "attempts that went ahead of slow ones wait at a worker for as long as these take",
  },
  {
    name: "slow handlers get work ahead",
    file: "packages/server/src/gateway/credits/ahead.ts",
    find: "this.#meanRunMs >= AHEAD_MS || ",
    replace: "",
    why: "a worker with many slots of slow handlers gets attempts that wait behind them",
    test: {
      file: "packages/server/src/gateway/credits/ahead.test.ts",
      name: "is none where handlers take 50 ms or longer, however many slots the worker has",
    },
  },
  {
    name: "credit beyond the slots is kept",
    file: "packages/server/src/gateway/sessions/take-back.ts",
    find: "if (account.outstanding > 0) reports.revoke(owner, session.profile.workerId, account);",
    replace: "",
    why: "slow work is sent ahead with credit that was allocated while the worker was quick",
    test: {
      file: "packages/server/src/gateway/prefetch.test.ts",
      name: "gives unused credit beyond its slots back when quick work ends",
    },
  },
  {
    name: "a result that crosses its refusal frees no slot",
    file: `${GATEWAY}/sessions/held.ts`,
    find: 'if (held.state === "OVER" && !stillRunning) return this.end(held);',
    replace: "",
    why: "a worker loses a slot for good when its handler ends while the refusal of the attempt is on its way",
    test: {
      file: "packages/server/src/gateway/authority.test.ts",
      name: "is allocated again when the result crosses the refusal",
    },
  },
];
