import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { resultsOf, SessionScene, token } from "../test/session-scene.ts";
import { assign } from "../test/tiny-gateway.ts";

const IDS = ["a", "b", "c", "d"];

type Step =
  | { do: "assign" | "finish" | "acknowledge" | "refuse"; id: string }
  | { do: "break" | "welcome" | "ask again" | "pass time" };

const STEPS: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("assign", "finish"), id: fc.constantFrom(...IDS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("acknowledge", "refuse"), id: fc.constantFrom(...IDS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("break", "welcome", "ask again", "pass time") }) },
);

/** A gateway that loses, repeats and forgets, and an executor that finishes what it was given. */
class Chaos {
  readonly scene = new SessionScene();
  /** Its state at the executor and what the server did about it, by execution; each has one attempt. */
  readonly running = new Set<string>();
  readonly unsettled = new Set<string>();
  /** Refused while their handlers ran, and not ended since. */
  readonly over = new Set<string>();
  readonly given: string[] = [];
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
    if (!this.#isWelcome) return;
    if (step.do === "assign") this.#assign(step.id);
    if (step.do === "ask again") this.#checkResend();
    if (step.do === "acknowledge" && this.unsettled.delete(step.id)) scene.say({ acks: [token(step.id)] });
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

  /** The hello names what is held, and the results follow the welcome, each once. */
  welcome(): void {
    this.#isWelcome = true;
    const hello = this.scene.sent().find((message) => message.hello !== undefined)?.hello;
    this.scene.welcome();
    const listed = (isOver: boolean) =>
      hello?.holds.filter(({ over }) => over === isOver).map((hold) => hold.token?.executionId ?? "");
    assert.deepEqual((listed(true) ?? [...this.over]).sort(), [...this.over].sort());
    const held = listed(false) ?? [...this.running, ...this.unsettled];
    assert.deepEqual(held.sort(), [...this.running, ...this.unsettled].sort());
    assert.deepEqual(resultsOf(this.scene.sent()).sort(), [...this.unsettled].map((id) => `${id}:1`).sort());
  }

  /** Again and again the same token: it reaches the executor once. */
  #assign(id: string): void {
    const before = this.scene.orders.length;
    this.scene.say({ assigns: [assign(id)] });
    const taken = this.scene.orders.slice(before).flatMap(({ assigns }) => assigns.map((item) => item.executionId));
    assert.deepEqual(taken, this.given.includes(id) ? [] : [id]);
    this.given.push(...taken);
    for (const given of taken) this.running.add(given);
  }

  /** Nobody wants the result; the slot is free. */
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
    this.scene.say({ refused: [token(id)] });
  }

  #checkResend(): void {
    this.scene.sent();
    this.scene.say({ resendResults: true });
    assert.deepEqual(resultsOf(this.scene.sent()).sort(), [...this.unsettled].map((id) => `${id}:1`).sort());
  }
}

describe("a session under any interleaving", () => {
  it("of assign, finish, acknowledge, refuse and reconnect loses no result and doubles none", async () => {
    const broke = { times: 0, withResults: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(STEPS, { minLength: 20, maxLength: 80 }), async (steps) => {
        const chaos = new Chaos();
        chaos.welcome();
        for (const step of steps) await chaos.perform(step);
        // In the end the connection holds, and every result that nobody settled is there.
        chaos.scene.link.connection.break();
        await chaos.scene.runtime.advance(3_000);
        broke.times += chaos.scene.link.connections.length - 1;
        broke.withResults += chaos.unsettled.size;
        chaos.welcome();
      }),
      { numRuns: 200 },
    );
    assert.ok(broke.times > 300 && broke.withResults > 50, `too tame: ${JSON.stringify(broke)}`);
  });
});
