import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { pino } from "pino";
import type { Input } from "../../engine/inputs.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import type { Store } from "../../ports/store.ts";
import type { CancelCommand, NodeEndedCommand } from "../../ports/store-commands.ts";
import { Hydrator } from "./hydrator.ts";

/** An inbox, and a machine that completes no command. */
class Inbox {
  readonly commands: (CancelCommand | NodeEndedCommand)[] = [];
  readonly taken = new Set<string>();
  reads = 0;
  readonly hydrator: Hydrator;

  constructor(runtime: ManualRuntime) {
    const summary = { waiting: false, ready: false, plans: false, commands: true, events: false, pools: [] };
    const store: Partial<Store> = {
      recurrences: { readOtherZones: async () => [], readAwaiting: async () => [] } as never,
      poll: async () => summary,
      readCommands: async (_, known, limit) => {
        this.reads++;
        return this.commands.filter(({ id }) => !known.has(id)).slice(0, limit);
      },
    };
    this.hydrator = new Hydrator(store as Store, runtime, pino({ level: "silent" }), {
      take: (input) => this.#take(input),
      shards: () => [0],
      readBegins: () => ({ since: 0, term: 0 }),
      readEnds: () => undefined,
      size: () => 0,
      commands: () => this.taken,
      inbox: () => new Map(),
      hasRoom: () => true,
      plans: () => 0,
      hasPlanRoom: () => true,
      pools: { begin: () => () => undefined },
      references: { resolve: async () => [], count: async () => 0 },
      hasRuns: () => false,
      tzdata: () => null,
    });
  }

  add(id: string): void {
    this.commands.push({ id, shard: 0, kind: "CANCEL", executionId: id });
    this.commands.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #take(input: Input): void {
    if (input.kind === "COMMANDS") for (const { id } of input.commands) this.taken.add(id);
  }
}

describe("the looks at the inbox", () => {
  let runtime: ManualRuntime;
  let inbox: Inbox;
  beforeEach(() => {
    runtime = new ManualRuntime();
    inbox = new Inbox(runtime);
  });

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      runtime.advance(10);
      await settled();
    }
  }

  it("bring every command into memory within a second, though thousands of them stay open", async () => {
    for (let i = 0; i < 4_321; i++) inbox.add(`b-${String(i).padStart(5, "0")}`);
    inbox.hydrator.start();
    await pass(1_000);
    assert.equal(inbox.taken.size, 4_321);
    assert.equal(inbox.reads, 5);
    inbox.hydrator.stop();
  });

  it("bring a command that comes late with a smaller id than thousands of open ones", async () => {
    for (let i = 0; i < 2_000; i++) inbox.add(`b-${String(i).padStart(5, "0")}`);
    inbox.hydrator.start();
    await pass(1_000);
    inbox.add("a-late");
    await pass(1_100);
    assert.ok(inbox.taken.has("a-late"));
    inbox.hydrator.stop();
  });

  it("bring the end of a node with a concurrency key whose hint was lost", async () => {
    const of = { shard: 0, executionId: "node", ofNode: { run: "run", node: 0 } } as const;
    inbox.hydrator.start();
    await pass(1_000);
    inbox.commands.push({ id: "end", kind: "NODE_ENDED", ...of, state: "SUCCEEDED", branch: null });
    await pass(1_100);
    assert.deepEqual([...inbox.taken], ["end"]);
    inbox.hydrator.stop();
  });

  it("read no more commands while as many are open as memory is given to, and go on when some are done", async () => {
    for (let i = 0; i < 20_000; i++) inbox.taken.add(`b-${i}`);
    inbox.add("c-next");
    inbox.hydrator.start();
    await pass(1_100);
    assert.equal(inbox.reads, 0);
    inbox.taken.delete("b-0");
    await pass(1_100);
    assert.ok(inbox.taken.has("c-next"));
    inbox.hydrator.stop();
  });
});
