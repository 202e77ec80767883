import type { Flow } from "../../domain/flow.ts";
import type { ExecutionPolicy, JobDefinition } from "../../domain/job.ts";
import { StoreUnavailable } from "../../ports/store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Properties that the executions of one kind share. Records name a kind by its number. */
export interface Kind extends Flow, Pick<JobDefinition, "handler" | "requires" | "priority" | "concurrencyLimit"> {
  policy: Omit<ExecutionPolicy, "startBefore" | "traceparent" | "onFinish">;
}

/** Kinds and flows in memory, at most. */
const KNOWN_MAX = 50_000;
/** Texts and numbers in one call. */
const PER_CALL = 500;

/** Numbers of kinds and flows. The store gives each a number when it is first needed, and never uses a number again. */
export class Kinds {
  readonly #connection: RedisConnection;
  readonly #numbers = new Map<string, number>();
  readonly #values = new Map<number, unknown>();
  /** Generation of the store in which all of them were learned. A later one may have lost them. */
  #generation = "";

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Numbers of these kinds and flows, in their order. */
  async numbersOf(texts: readonly string[]): Promise<number[]> {
    this.#forgetLost();
    const found = new Map<string, number>();
    for (const text of texts) {
      const known = this.#numbers.get(text);
      if (known !== undefined) found.set(text, known);
    }
    const missing = [...new Set(texts)].filter((text) => !found.has(text));
    for (let from = 0; from < missing.length; from += PER_CALL) {
      const part = missing.slice(from, from + PER_CALL);
      const answer = (await this.#connection.durably("ms_kinds", part)) as Buffer[];
      for (const [i, text] of part.entries()) {
        found.set(text, Number(answer[i]));
        this.#learn(text, Number(answer[i]));
      }
    }
    return texts.map((text) => found.get(text) as number);
  }

  async kindsOf(numbers: readonly number[]): Promise<Map<number, Kind>> {
    return (await this.#read(numbers)) as Map<number, Kind>;
  }

  async flowsOf(numbers: readonly number[]): Promise<Map<number, Flow>> {
    return (await this.#read(numbers)) as Map<number, Flow>;
  }

  /** Number of each flow; null: it has had no executions. */
  async knownFlows(flows: readonly Flow[]): Promise<(number | null)[]> {
    if (flows.length === 0) return [];
    const key = this.#connection.key("kn");
    const [found] = (await this.#connection.call([["HMGET", key, ...flows.map(flowText)]])) as [(Buffer | null)[]];
    return found.map((number) => (number === null ? null : Number(number)));
  }

  async #read(numbers: readonly number[]): Promise<Map<number, unknown>> {
    this.#forgetLost();
    const asked = [...new Set(numbers)];
    const found = new Map(asked.map((number) => [number, this.#values.get(number)]));
    const missing = asked.filter((number) => found.get(number) === undefined);
    for (let from = 0; from < missing.length; from += PER_CALL) {
      const part = missing.slice(from, from + PER_CALL);
      const [texts] = await this.#connection.call([["HMGET", this.#connection.key("k"), ...part.map(String)]]);
      for (const [i, number] of part.entries()) {
        const text = (texts as (Buffer | null)[])[i];
        if (text == null) throw new StoreUnavailable(`Redis has lost the kind ${number} of executions`);
        this.#learn(String(text), number);
        found.set(number, this.#values.get(number));
      }
    }
    return found;
  }

  #forgetLost(): void {
    const { generation } = this.#connection;
    if (generation !== this.#generation) this.#forget();
    this.#generation = generation;
  }

  #forget(): void {
    this.#numbers.clear();
    this.#values.clear();
  }

  #learn(text: string, number: number): void {
    if (this.#numbers.size >= KNOWN_MAX) this.#forget();
    // The call that answered may have opened the connection.
    if (this.#numbers.size === 0) this.#generation = this.#connection.generation;
    this.#numbers.set(text, number);
    this.#values.set(number, valueOf(text));
  }
}

export function flowText({ tenant, pool }: Flow): string {
  return JSON.stringify([tenant, pool]);
}

export function kindText(tenant: string, definition: Omit<Kind, "tenant"> & Pick<JobDefinition, "policy">): string {
  const { pool, handler, requires, priority, concurrencyLimit } = definition;
  const { startBefore: _, traceparent: __, onFinish: ___, ...policy } = definition.policy;
  return JSON.stringify([tenant, pool, handler, requires, priority, concurrencyLimit, policy]);
}

/** Fields of a job that decide about the flow and kind of its executions. */
interface OfKind {
  tenant: string;
  definition: Parameters<typeof kindText>[1];
}

/** Texts of the flow and kind of an execution of a job. */
export function textsOfJob({ tenant, definition }: OfKind): [flow: string, kind: string] {
  return [flowText({ tenant, pool: definition.pool }), kindText(tenant, definition)];
}

function valueOf(text: string): Kind | Flow {
  const [tenant, pool, handler, requires, priority, concurrencyLimit, policy] = JSON.parse(text);
  if (handler === undefined) return { tenant, pool };
  return { tenant, pool, handler, requires, priority, concurrencyLimit, policy };
}
