import { Client, type CreatedApiKey, MainspringError } from "@mainspring/sdk";
import type { Outcome } from "../play.ts";

/** API key of all nodes, workers and clients, as an installation of the release before has it. */
export const SINGLE_KEY = "the-single-key-of-the-release-before";

const RULE = "a single key stays good in an upgrade, and keys of the store come beside it";

/** Asks for keys of the store while nodes are upgraded, with the single key, and judges the answers. */
export class StoreKeyTrial {
  readonly violations: Outcome["violations"] = [];
  /** Observations, for people. */
  readonly told: string[] = [];
  readonly #urls: readonly string[];
  readonly #created: CreatedApiKey[] = [];

  /** @param urls HTTP addresses of the nodes */
  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** A node of this release creates no key while a node of the release before, which would take it from nobody, lives. */
  async isTooEarly(url: string): Promise<void> {
    const refusal = await new Client({ url }).keys.create({ kind: "OPERATOR", name: "too early" }).then(
      () => null,
      (error: unknown) => (error instanceof MainspringError ? error : null),
    );
    const says = refusal?.message ?? "created one";
    if (refusal?.code === "CONFLICT" && says.includes("does not know of API keys in the store"))
      this.told.push("refused beside a node of the release before");
    else this.#broken(`a node was asked for a key beside a node of the release before, and ${says}`);
  }

  /** Creates an operator's key with the single key, and with that one keys of a client and of a worker. */
  async create(): Promise<void> {
    const [url = ""] = this.#urls;
    const operator = await new Client({ url }).keys.create({ kind: "OPERATOR", name: "operator" });
    const keys = new Client({ url, apiKey: operator.key }).keys;
    this.#created.push(operator, await keys.create({ kind: "CLIENT", name: "client" }));
    this.#created.push(await keys.create({ kind: "WORKER", name: "worker" }));
    await this.areGood();
  }

  /** Asks each node who sends each key. */
  async areGood(): Promise<void> {
    const expected = new Map([
      [SINGLE_KEY, "environment"],
      ...this.#created.map(({ key, keyId }) => [key, keyId] as const),
    ]);
    for (const url of this.#urls) {
      for (const [apiKey, keyId] of expected) {
        const found = await new Client({ url, apiKey }).me().catch((error: Error) => ({ keyId: error.message }));
        if (found.keyId !== keyId) this.#broken(`${url} was asked for the key ${keyId}, and answered ${found.keyId}`);
      }
    }
    this.told.push(`${expected.size} keys good at ${this.#urls.length} nodes`);
  }

  #broken(what: string): void {
    this.violations.push({ rule: RULE, what });
  }
}
