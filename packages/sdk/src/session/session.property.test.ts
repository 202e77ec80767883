import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { resultsOf, SessionScene, step, stepsOf, token } from "../../test/session-scene.ts";
import { assign } from "../../test/tiny-gateway.ts";

const IDS = ["a", "b", "c", "d"];

type Step =
  | { do: "assign" | "finish" | "acknowledge" | "refuse" | "record" | "store"; id: string }
  | { do: "break" | "welcome" | "ask again" | "pass time" };

const STEPS: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("assign", "finish", "record"), id: fc.constantFrom(...IDS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("acknowledge", "refuse", "store"), id: fc.constantFrom(...IDS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("break", "welcome", "ask again", "pass time") }) },
);

/** A gateway that loses, repeats and forgets messages, and an executor that finishes its attempts. */
class Chaos {
  readonly scene = new SessionScene();
  /** State at the executor and decision of the server, by execution id; each execution has one attempt. */
  readonly running = new Set<string>();
  readonly unsettled = new Set<string>();
  /** Executions that were refused while their handlers ran, and whose handlers have not ended since. */
  readonly over = new Set<string>();
  readonly given: string[] = [];
  /** Numbers of the records that the gateway has not acknowledged, by execution id, and of all records so far. */
  readonly unstored = new Map<string, number[]>();
  readonly numbers = new Map<string, number>();
  #isWelcome = false;

  constructor() {
    this.scene.session.start();
  }

  async perform(step: Step): Promise<void> {
    const { scene } = this;
    if (step.do === "pass time") await this.#passTime();
    if (step.do === "welcome" && this.#isConnected) this.welcome();
    if (step.do === "break" && this.#isConnected) {
      this.#isWelcome = false;
      scene.link.connection.break();
    }
    if (step.do === "finish" && this.running.delete(step.id)) {
      this.unsettled.add(step.id);
      scene.finish(step.id);
    }
    if (step.do === "finish" && this.over.has(step.id)) this.#end(step.id);
    if (step.do === "record" && this.given.includes(step.id)) this.#record(step.id);
    if (!this.#isWelcome) return;
    if (step.do === "assign") this.#assign(step.id);
    if (step.do === "ask again") this.#checkResend();
    if (step.do === "store") this.#store(step.id);
    if (step.do === "acknowledge" && this.unsettled.delete(step.id)) this.#acknowledge(step.id);
    if (step.do === "refuse" && this.given.includes(step.id)) this.#refuse(step.id);
  }

  get #isConnected(): boolean {
    const { isBroken, isClosed } = this.scene.link.connection;
    return !isBroken && !isClosed;
  }

  async #passTime(): Promise<void> {
    const connections = this.scene.link.connections.length;
    await this.scene.runtime.advance(3_000);
    if (this.scene.link.connections.length > connections) this.#isWelcome = false;
  }

  /** A running handler records a step, which is sent at once where there is a welcome; of others nothing is sent. */
  #record(id: string): void {
    const number = (this.numbers.get(id) ?? 0) + 1;
    this.numbers.set(id, number);
    const isWanted = this.running.has(id);
    if (isWanted) this.unstored.set(id, [...(this.unstored.get(id) ?? []), number]);
    if (this.#isConnected && this.#isWelcome) this.scene.sent();
    this.scene.record(step(id, number));
    if (this.#isConnected && this.#isWelcome)
      assert.deepEqual(stepsOf(this.scene.sent()), isWanted ? [`${id}:1/${number}`] : []);
  }

  /** The handler hears of each stored record once, however often the gateway says it. */
  #store(id: string): void {
    const [number, ...others] = this.unstored.get(id) ?? [];
    const before = this.scene.orders.length;
    const acks = Array.from({ length: this.numbers.get(id) ?? 0 }, (_, index) => index + 1).filter(
      (known) => known === number || !others.includes(known),
    );
    const stepAcks = acks.map((known) => ({ token: token(id), number: known }));
    this.scene.say({ stepAcks: [...stepAcks, ...stepAcks] });
    this.unstored.set(id, others);
    const heard = this.scene.orders.slice(before).flatMap((orders) => (orders.stepAcks ?? []).map((ack) => ack.number));
    assert.deepEqual(heard, number === undefined ? [] : [number]);
  }

  #acknowledge(id: string): void {
    this.unstored.delete(id);
    this.scene.say({ acks: [token(id)] });
  }

  /** Each result and each record that is not acknowledged comes once, a result behind the records of its attempt. */
  #checkSent(): void {
    const sent = this.scene.sent();
    assert.deepEqual(resultsOf(sent).sort(), [...this.unsettled].map((id) => `${id}:1`).sort());
    const records = [...this.unstored].flatMap(([id, numbers]) => numbers.map((number) => `${id}:1/${number}`));
    assert.deepEqual(stepsOf(sent).sort(), records.sort());
    const lastRecord = sent.findLastIndex(({ steps }) => steps.length > 0);
    const firstResult = sent.findIndex(({ finished }) => finished.length > 0);
    assert.ok(firstResult === -1 || lastRecord < firstResult, "a result came ahead of records");
  }

  /** The hello names the attempts that the worker holds. The results follow the welcome, each once. */
  welcome(): void {
    this.#isWelcome = true;
    const hello = this.scene.sent().find((message) => message.hello !== undefined)?.hello;
    this.scene.welcome();
    const listed = (isOver: boolean) =>
      hello?.holds.filter(({ over }) => over === isOver).map((hold) => hold.token?.executionId ?? "");
    assert.deepEqual((listed(true) ?? [...this.over]).sort(), [...this.over].sort());
    const held = listed(false) ?? [...this.running, ...this.unsettled];
    assert.deepEqual(held.sort(), [...this.running, ...this.unsettled].sort());
    this.#checkSent();
  }

  /** Repeats the same token; it reaches the executor once. */
  #assign(id: string): void {
    const before = this.scene.orders.length;
    this.scene.say({ assigns: [assign(id)] });
    const taken = this.scene.orders.slice(before).flatMap(({ assigns }) => assigns.map((item) => item.executionId));
    assert.deepEqual(taken, this.given.includes(id) ? [] : [id]);
    this.given.push(...taken);
    for (const given of taken) this.running.add(given);
  }

  /** Ends a handler whose result the server no longer wants, which frees the slot. */
  #end(id: string): void {
    this.over.delete(id);
    this.scene.sent();
    this.scene.finish(id);
    const said = this.scene.sent();
    assert.deepEqual(resultsOf(said), []);
    const ended = said.flatMap((message) => message.ended.map(({ executionId }) => executionId));
    assert.deepEqual(ended, this.#isWelcome ? [id] : []);
  }

  #refuse(id: string): void {
    if (this.running.delete(id)) this.over.add(id);
    this.unsettled.delete(id);
    this.unstored.delete(id);
    this.scene.say({ refused: [token(id)] });
  }

  #checkResend(): void {
    this.scene.sent();
    this.scene.say({ resendResults: true });
    this.#checkSent();
  }
}

describe("a session under any interleaving", () => {
  it("of assign, record, finish, acknowledge, refuse and reconnect loses no result and no record, and doubles none", async () => {
    const broke = { times: 0, withResults: 0, withRecords: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(STEPS, { minLength: 20, maxLength: 80 }), async (steps) => {
        const chaos = new Chaos();
        chaos.welcome();
        for (const step of steps) await chaos.perform(step);
        // In the end the connection holds, and every unsettled result has arrived.
        chaos.scene.link.connection.break();
        await chaos.scene.runtime.advance(3_000);
        broke.times += chaos.scene.link.connections.length - 1;
        broke.withResults += chaos.unsettled.size;
        broke.withRecords += [...chaos.unstored.values()].filter((numbers) => numbers.length > 0).length;
        chaos.welcome();
      }),
      { numRuns: 200 },
    );
    assert.ok(
      broke.times > 300 && broke.withResults > 50 && broke.withRecords > 50,
      `too tame: ${JSON.stringify(broke)}`,
    );
  });
});
