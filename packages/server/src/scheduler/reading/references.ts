import { DEPTH_MAX, PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import type { ExecutionId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { type KeptNode, keptByNode } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { Unsendable } from "../../engine/inputs.ts";
import { depthOf } from "../../ports/references/json-slices.ts";
import { JsonValue } from "../../ports/references/json-value.ts";
import {
  assembled,
  decodeTemplate,
  INPUT,
  isTemplate,
  type ReferenceEdit,
  referenceText,
  type Template,
} from "../../ports/references/template.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import { Turns } from "../../ports/turns.ts";
import { WeightedCache } from "./weighted-cache.ts";

/** Largest memory of results and inputs that are kept, in bytes. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Largest number of kept nodes that are remembered. A run counts as 100 nodes more. */
const KEPT_NODES_MAX = 200_000;
const RUN_WEIGHT = 100;
/** Results and inputs of one read, of which each has up to 1 MiB. */
const READ_VALUES = 64;
const NAMES = { REFERENCE_NOT_FOUND: "ReferenceNotFound", REFERENCES_TOO_LARGE: "ReferencesTooLarge" };
const NULL = new TextEncoder().encode("null");

/** A stored payload or output, and the run to which its references refer. */
export interface Referring {
  run: ExecutionId;
  stored: Uint8Array;
}

/** JSON text without references, or the reason why there is none. */
export type Filled = Uint8Array | Pick<Unsendable, "reason" | "error">;

interface RunNode {
  run: ExecutionId;
  node: number;
}

/** Nodes that a run keeps from earlier runs, by number. */
type KeptOfRun = ReadonlyMap<number, KeptNode>;

/** Place of a template for which a value is needed. */
interface Use {
  filling: Filling;
  edit: number;
}

/**
 * Puts the results of nodes and the inputs of runs in place of references. A node that did not succeed, or has not ended, has
 * no result: a reference to it stands for null, whatever its path.
 */
export class References {
  readonly #store: Pick<Store, "payloads" | "runs">;
  readonly #turns: Turns;
  /** Results and inputs that were used last, by execution. */
  #kept = new WeightedCache<JsonValue>(KEPT_BYTES_MAX);
  /** Nodes that runs keep from earlier runs, by run. They never change. */
  #keepers = new WeightedCache<KeptOfRun>(KEPT_NODES_MAX);

  constructor(store: Pick<Store, "payloads" | "runs">, runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">) {
    this.#store = store;
    this.#turns = new Turns(runtime);
  }

  /**
   * Replaces the references in templates, and leaves other texts as they are.
   * @returns the texts in order
   * @throws {StoreUnavailable}
   */
  async resolve(wanted: readonly Referring[]): Promise<Filled[]> {
    const fillings = wanted.map(({ run, stored }) => (isTemplate(stored) ? new Filling(run, stored) : stored));
    const uses = usesOf(fillings.filter((filling) => filling instanceof Filling));
    const sources = [...uses.keys()];
    for (let first = 0; first < sources.length; first += READ_VALUES) {
      const some = sources.slice(first, first + READ_VALUES);
      const values = await this.#values(some, uses);
      for (const source of some) await this.#use(values.get(source) ?? null, uses.get(source) ?? []);
    }
    return await this.#turns.map(fillings, (filling) => (filling instanceof Filling ? filling.text() : filling));
  }

  /** Forgets all results and kept nodes, because the store may have been set back to a state before them. */
  forget(): void {
    this.#kept = new WeightedCache(KEPT_BYTES_MAX);
    this.#keepers = new WeightedCache(KEPT_NODES_MAX);
  }

  /** Results and inputs, as far as there are any. */
  async #values(
    sources: readonly ExecutionId[],
    uses: ReadonlyMap<ExecutionId, readonly Use[]>,
  ): Promise<Map<ExecutionId, JsonValue>> {
    const found = new Map<ExecutionId, JsonValue>();
    const [results, inputs]: [ExecutionId[], ExecutionId[]] = [[], []];
    for (const source of sources) {
      const kept = this.#kept.take(source);
      const [use] = uses.get(source) ?? [];
      if (kept !== undefined) found.set(source, kept);
      else (use?.filling.isInput(use.edit) ? inputs : results).push(source);
    }
    for (const [id, value] of await this.#results(results, uses)) found.set(id, value);
    if (inputs.length > 0) {
      for (const [id, input] of await this.#store.payloads(inputs)) found.set(id, new JsonValue(input));
    }
    return found;
  }

  /** Results of nodes, as far as there are any, from this run or from the earlier run from which this one keeps the node. */
  async #results(
    sources: readonly ExecutionId[],
    uses: ReadonlyMap<ExecutionId, readonly Use[]>,
  ): Promise<Map<ExecutionId, JsonValue>> {
    const found = await this.#read(sources);
    const missing = sources.filter((source) => !found.has(source));
    if (missing.length === 0) return found;
    const nodes = missing.flatMap((source) => {
      const [use] = uses.get(source) ?? [];
      return use === undefined ? [] : [{ source, ...use.filling.nodeOf(use.edit) }];
    });
    const kept = await this.#keptOf(new Set(nodes.map(({ run }) => run)));
    const keepers = new Map<ExecutionId, ExecutionId>();
    for (const { source, run, node } of nodes) {
      const earlier = kept.get(run)?.get(node);
      if (earlier !== undefined) keepers.set(nodeExecutionId(earlier.run, node, null, 0), source);
    }
    for (const [id, value] of await this.#read([...keepers.keys()])) found.set(keepers.get(id) as ExecutionId, value);
    return found;
  }

  /** Nodes that the runs keep from earlier runs. @throws {StoreUnavailable} */
  async #keptOf(runs: ReadonlySet<ExecutionId>): Promise<Map<ExecutionId, KeptOfRun>> {
    const found = new Map<ExecutionId, KeptOfRun>();
    const unknown: ExecutionId[] = [];
    for (const run of runs) {
      const known = this.#keepers.use(run);
      if (known === undefined) unknown.push(run);
      else found.set(run, known);
    }
    const read = unknown.length === 0 ? new Map() : await this.#store.runs.kept(unknown);
    for (const run of unknown) {
      const kept = keptByNode(read.get(run) ?? []);
      found.set(run, kept);
      this.#keepers.keep(run, kept, kept.size + RUN_WEIGHT);
    }
    return found;
  }

  async #read(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, JsonValue>> {
    if (ids.length === 0) return new Map();
    const results = await this.#store.runs.results(ids);
    return new Map([...results].map(([id, result]) => [id, new JsonValue(result ?? NULL)]));
  }

  /** @param value null: there is no result */
  async #use(value: JsonValue | null, uses: readonly Use[]): Promise<void> {
    for (const { filling, edit } of uses) {
      if (value === null) filling.put(edit, NULL);
      else await this.#turns.steps(filling.putting(edit, value));
    }
    // An index that a use has built counts from now on.
    const [use] = uses;
    if (value !== null && use !== undefined) this.#kept.keep(use.filling.sourceOf(use.edit), value, value.weight);
  }
}

function usesOf(fillings: readonly Filling[]): Map<ExecutionId, Use[]> {
  const uses = new Map<ExecutionId, Use[]>();
  for (const filling of fillings) {
    for (const edit of filling.references) {
      const source = filling.sourceOf(edit);
      const known = uses.get(source);
      if (known === undefined) uses.set(source, [{ filling, edit }]);
      else known.push({ filling, edit });
    }
  }
  return uses;
}

/** A template whose references are being replaced. */
class Filling {
  readonly #run: ExecutionId;
  readonly #template: Template;
  readonly #values: Uint8Array[];
  /** Bytes of the text with the values so far. */
  #bytes: number;
  #failed: Pick<Unsendable, "reason" | "error"> | null = null;

  constructor(run: ExecutionId, stored: Uint8Array) {
    this.#run = run;
    this.#template = decodeTemplate(stored);
    const { text, edits } = this.#template;
    this.#bytes = text.length;
    this.#values = edits.map((edit) => ("value" in edit ? text.subarray(edit.value.start, edit.value.end) : NULL));
    for (const { at } of edits) this.#bytes -= at.end - at.start;
    for (const edit of edits) if ("value" in edit) this.#bytes += edit.value.end - edit.value.start;
  }

  /** Numbers of the edits that are references. */
  get references(): number[] {
    return this.#template.edits.flatMap((edit, number) => ("from" in edit ? [number] : []));
  }

  isInput(edit: number): boolean {
    return this.#reference(edit).from === INPUT;
  }

  /** Execution whose result, or input, the reference refers to. */
  sourceOf(edit: number): ExecutionId {
    const { from } = this.#reference(edit);
    return from === INPUT ? this.#run : nodeExecutionId(this.#run, from, null, 0);
  }

  /** Node whose result the reference refers to. */
  nodeOf(edit: number): RunNode {
    const { from } = this.#reference(edit);
    invariant(from !== INPUT, "the input is the result of no node");
    return { run: this.#run, node: from };
  }

  put(edit: number, value: Uint8Array): void {
    this.#bytes += value.length;
    if (this.#bytes <= PAYLOAD_BYTES_MAX) this.#values[edit] = value;
    else
      this.#fail(
        "REFERENCES_TOO_LARGE",
        `the JSON with its references replaced has more than ${PAYLOAD_BYTES_MAX} bytes`,
      );
  }

  *putting(edit: number, value: JsonValue): Generator<undefined, void> {
    if (this.#failed !== null) return;
    const { path, depth } = this.#reference(edit);
    const slice = yield* value.finding(path);
    if (slice === null) return this.#notFound(edit);
    if (depth + value.depth > DEPTH_MAX && depth + depthOf(value.bytes, slice) > DEPTH_MAX) {
      const message = `the JSON with its references replaced is nested deeper than ${DEPTH_MAX} levels`;
      return this.#fail("REFERENCES_TOO_LARGE", message);
    }
    // A copy, because a part of a result must not keep the whole result in memory.
    this.put(edit, new Uint8Array(value.bytes.subarray(slice.start, slice.end)));
  }

  text(): Filled {
    return this.#failed ?? assembled(this.#template, this.#values);
  }

  #notFound(edit: number): void {
    const of = this.isInput(edit) ? "the input" : "the result of the node";
    const reference = referenceText(this.#template, this.#reference(edit));
    this.#fail("REFERENCE_NOT_FOUND", `the reference ${reference} leads nowhere: ${of} has nothing at this path`);
  }

  #fail(reason: Unsendable["reason"], message: string): void {
    this.#failed ??= { reason, error: { name: NAMES[reason], message } };
  }

  #reference(edit: number): ReferenceEdit {
    return this.#template.edits[edit] as ReferenceEdit;
  }
}
