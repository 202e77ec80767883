import type { Mutant } from "./mutant.ts";

const DEPARTURES = "packages/server/src/scheduler/outbound-assignments.ts";
const RUNNER = "packages/server/src/scheduler/commit-loop.ts";
const OWNERSHIP = "packages/server/src/scheduler/ownership/ownership-rules.ts";
const HOLDINGS = "packages/server/src/scheduler/ownership/shard-ownership.ts";
const HYDRATOR = "packages/server/src/scheduler/reading/hydrator.ts";
const SCHEDULER = "packages/server/src/scheduler/scheduler.ts";
const POOL_CHANGER = "packages/server/src/api/pools/pool-changer.ts";

/** Mutants in the scheduler around the machine. */
export const schedulerMutants: readonly Mutant[] = [
  {
    name: "send before commit",
    file: RUNNER,
    find: "void this.#commit(batch);",
    replace: "void this.#outbound.send(batch.assigns);\n      void this.#commit(batch);",
    why: "an assignment runs that nobody knows of after a crash",
  },
  {
    name: "acknowledge before commit",
    file: RUNNER,
    find: "void this.#commit(batch);",
    replace: `for (const [node, workers] of batch.acks) {
        for (const [workerId, tokens] of workers) this.#deps.bus.send({ node, role: "gateway" }, { kind: "ACK", workerId, tokens });
      }
      void this.#commit(batch);`,
    why: "a worker forgets a result that is lost with the server",
  },
  {
    name: "blind resend after an unknown commit",
    file: RUNNER,
    find: 'return this.#giveUp("COMMIT_UNANSWERED", "a commit was not answered");',
    replace: "return void this.#commit(batch);",
    why: "what may have been written is written again",
  },
  {
    name: "lost hint never found",
    file: HYDRATOR,
    find: 'if (!this.#stopped && laneHashes.length > 0) this.#reader.take({ kind: "SWEEP", laneHashes });',
    replace: "",
    why: "a job whose hint was lost with its server never runs",
  },
  {
    name: "what waits is not looked for",
    file: HYDRATOR,
    find: "this.#runtime.now() + AHEAD_MS, limit",
    replace: "0, limit",
    why: "a delayed job never runs",
  },
  {
    name: "what is fenced is sent all the same",
    file: RUNNER,
    find: "    batch.drop(new Set(fenced));\n",
    replace: "",
    why: "assignments leave that were never written, because another owns their shard",
  },
  {
    name: "sent before its time",
    file: DEPARTURES,
    find: "const early = assigns.filter((assign) => sendableAt(state, assign) > now);",
    replace: "const early: typeof assigns = [];",
    why: "what is assigned ahead of its time begins ahead of it",
  },
  {
    name: "the unsent filter forgotten",
    file: DEPARTURES,
    find: "if (isStillWanted(this.#deps.state, assign)) wanted.push(assign);",
    replace: "if (assign.attempt > 0) wanted.push(assign);",
    why: "what was cancelled while its assignment was on its way to the store begins after its end",
  },
  {
    name: "commands only by hint",
    file: HYDRATOR,
    find: "    if (summary.commands && (await this.#readCommands())) full = true;\n",
    replace: "",
    why: "a command whose hint was lost is obeyed after the next takeover, or never",
    test: {
      file: "packages/server/src/scheduler/reading/hydrator.test.ts",
      name: "bring every command into memory within a second, though thousands of them stay open",
    },
  },
  {
    name: "open commands are read again",
    file: HYDRATOR,
    find: "const known = this.#reader.commands();",
    replace: "const known = new Set<string>();",
    why: "a thousand commands that stay open keep the later ones from being read",
  },
  {
    name: "`>` for `<` at a lease",
    file: "packages/server/src/scheduler/ownership/shard-ownership.ts",
    find: "return this.#deps.runtime.monotonicMs() < this.#trustUntilMs;",
    replace: "return this.#deps.runtime.monotonicMs() > this.#trustUntilMs;",
    why: "an owner believes in its lease when it has run out, and only then",
  },
  {
    name: "nobody looks whether he was overtaken",
    file: "packages/server/src/scheduler/ownership/shard-ownership.ts",
    find: "await this.#releaseOvertaken(holders);",
    replace: "",
    why: "an owner that commits nothing never learns that it was overtaken, and its shards stand still",
  },
  {
    name: "who cannot be reached is dead",
    file: OWNERSHIP,
    find: "!(renewedAgoMs > SUSPECT_AFTER_MS && isUnreachable(incarnation))",
    replace: "!(renewedAgoMs >= 0 && isUnreachable(incarnation))",
    why: "two nodes that reach the store but not each other steal their shards in turn",
  },
  {
    name: "shards are taken from the living",
    file: OWNERSHIP,
    find: "return !alive.has(owner) && !outlook.isSettling(shard);",
    replace: "return (!alive.has(owner) || owner !== me) && !outlook.isSettling(shard);",
    why: "a shard moves without its owner having committed its last batch and let it go",
  },
  {
    name: "draining is not heeded",
    file: OWNERSHIP,
    find: "owners.filter(({ draining }) => !draining)",
    replace: "owners.filter(() => true)",
    why: "a node that is to be stopped keeps its shards, and new ones come to it",
  },
  {
    name: "a lease is believed from its answer on",
    file: HOLDINGS,
    find: "this.#trustUntilMs = beganMs + terms.ttlMs;",
    replace: "this.#trustUntilMs = runtime.monotonicMs() + terms.ttlMs;",
    why: "a leader whose renewal took long decides on after a standby has taken over",
    test: {
      file: "packages/server/src/scheduler/ownership/shard-ownership.test.ts",
      name: "trusts its lease from before the call on, however long the answer takes",
    },
  },
  {
    name: "a standby takes itself for the leader",
    file: HOLDINGS,
    find: "const placed = this.#placement.here(profile.incarnation, placedNodes(owners, leases));",
    replace:
      "const own = profile.wantsLeader === true ? leases.filter(({ incarnation }) => incarnation === profile.incarnation) : [];\n" +
      "    const placed = this.#placement.here(profile.incarnation, own.length > 0 ? own : placedNodes(owners, leases));",
    also: [
      {
        file: OWNERSHIP,
        find: "return !alive.has(owner) && !outlook.isSettling(shard);",
        replace: "return (!alive.has(owner) || owner !== me) && !outlook.isSettling(shard);",
      },
    ],
    why: "a standby takes all shards from the leader, which lives and takes them back",
  },
  {
    name: "reach is not heeded",
    file: OWNERSHIP,
    find: "? largestGroup(living) : living;",
    replace: "? living : living;",
    why: "a node that does not reach the others owns shards, and their work stands still",
  },
  {
    name: "a node that is cut off keeps its shards",
    file: OWNERSHIP,
    find: "const release = isCutOff ? elsewhere : elsewhere.slice(0, 1);",
    replace: "const release = isCutOff ? [] : elsewhere.slice(0, 1);",
    why: "the others wait for its shards, and their work stands still",
  },
  {
    name: "each end of a broken link takes itself for the owner",
    file: HOLDINGS,
    find: "const owners = owningNodes(living, leases);",
    replace:
      "const own = leases.find(({ incarnation }) => incarnation === profile.incarnation)?.reaches ?? null;\n" +
      "    const owners = owningNodes(living, leases).length < living.length && own !== null\n" +
      "      ? living.filter(({ incarnation }) => own.includes(incarnation)) : living;",
    why: "both own shards and do not reach each other",
  },
  {
    name: "shards stay where they are",
    file: HOLDINGS,
    find: "if (next.release.length > 0) await this.#release(next.release, holders);",
    replace: "",
    why: "nothing moves to a node that came, or from one that is drained",
  },
  {
    name: "confirmed before it was read",
    file: SCHEDULER,
    find: "await pools.refresh();",
    replace: "",
    why: "a pause is answered for, and the owner goes on by what it read before",
  },
  {
    name: "only one owner is asked",
    file: POOL_CHANGER,
    find: "return [...owners];",
    replace: "return [...owners].slice(0, confirmed.size === 0 ? 1 : 0);",
    why: "a pause is answered for while other owners do not know of it",
  },
];
