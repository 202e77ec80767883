import { DEPTH_MAX, MAP_ITEMS_MAX, PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import type { ExecutionId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { ItemsSource } from "../../domain/workflow/definition.ts";
import { type KeptNode, type KeptNodes, keptByNode } from "../../domain/workflow/kept-nodes.ts";
import type { MapFailure } from "../../domain/workflow/map-counts.ts";
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
  type ResultsEdit,
  referenceText,
  type Template,
} from "../../ports/references/template.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import { Turns } from "../../ports/turns.ts";
import { type ResultArray, readResultArray } from "./map-results.ts";
import { WeightedCache } from "./weighted-cache.ts";

/** Largest memory of results and inputs that are kept, in bytes. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Largest number of kept nodes that are remembered. A run counts as 100 nodes more. */
const KEPT_NODES_MAX = 200_000;
const RUN_WEIGHT = 100;
/** Results and inputs of one read, of which each has up to 1 MiB. */
const READ_VALUES = 64;
const NAMES = { REFERENCE_NOT_FOUND: "ReferenceNotFound", REFERENCES_TOO_LARGE: "ReferencesTooLarge" };
const FAILURES: Readonly<Record<MapFailure["reason"], string>> = {
  REFERENCE_NOT_FOUND: "ReferenceNotFound",
  ITEMS_NOT_AN_ARRAY: "ItemsNotAnArray",
  TOO_MANY_ITEMS: "TooManyItems",
};
const NULL = new TextEncoder().encode("null");

/** A stored payload or output, and the run to which its references refer. */
export interface Referring {
  run: ExecutionId;
  /** Index of the item for which the payload is; null: the node is no map. */
  item: number | null;
  stored: Uint8Array;
}

/** JSON text without references, or the reason why there is none. */
export type Filled = Uint8Array | Pick<Unsendable, "reason" | "error">;

/**
 * Value of a source; TOO_LARGE: the results of a map have together more bytes than a payload may have; the reason why a
 * sub-workflow has no input.
 */
type SourceValue = JsonValue | "TOO_LARGE" | InputFailure;
type InputFailure = Exclude<Filled, Uint8Array>;

/** Execution whose result, or input, references need. */
interface Source {
  id: ExecutionId;
  /** Name of the value. The execution of a sub-workflow has an input for its nodes, and a result for those of its parent. */
  key: string;
  run: ExecutionId;
  /** INPUT: the input of the run. */
  node: number;
  /** Whether the node is a map. `id` is then that of no execution. */
  isMap: boolean;
}

/** Parts that a run keeps from earlier runs. */
interface KeptOfRun {
  all: readonly KeptNodes[];
  byNode: ReadonlyMap<number, KeptNode>;
}

/** Place of a template for which a value is needed. */
interface Use {
  filling: Filling;
  edit: number;
}

/**
 * Puts the results of nodes and the inputs of runs in place of references. A node that did not succeed, or has not ended, has
 * no result: a reference to it stands for null, whatever its path. The results of a map are an array in the order of its
 * items, with null for items without a result; a map whose items were not counted has none.
 */
export class References {
  readonly #store: Pick<Store, "payloads" | "runs">;
  readonly #turns: Turns;
  /** Results and inputs that were used last, by execution; arrays of maps by the id that the map would have. */
  #kept = new WeightedCache<JsonValue>(KEPT_BYTES_MAX);
  /** Nodes that runs keep from earlier runs, by run. They never change. */
  #keepers = new WeightedCache<KeptOfRun>(KEPT_NODES_MAX);
  /** Arrays of maps some of whose items have not ended. */
  readonly #unsettled = new WeakSet<JsonValue>();

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
    const cache = this.#kept;
    const fillings = wanted.map((one) => (isTemplate(one.stored) ? new Filling(one) : one.stored));
    const uses = usesOf(fillings.filter((filling) => filling instanceof Filling));
    const sources = [...uses.values()].flatMap(([use]) => (use === undefined ? [] : [use.filling.sourceOf(use.edit)]));
    for (let first = 0; first < sources.length; first += READ_VALUES) {
      const some = sources.slice(first, first + READ_VALUES);
      const values = await this.#values(some);
      for (const { key } of some) await this.#use(cache, key, values.get(key) ?? null, uses.get(key) ?? []);
    }
    return await this.#turns.map(fillings, (filling) => (filling instanceof Filling ? filling.text() : filling));
  }

  /**
   * Counts the items of a map.
   * @param from number of the node whose result has the array; INPUT: the input of the run has it
   * @throws {StoreUnavailable}
   */
  async count(run: ExecutionId, { from, path }: ItemsSource): Promise<number | MapFailure> {
    const cache = this.#kept;
    const source = sourceOf(run, from);
    const value = (await this.#values([source])).get(source.key);
    if (isFailure(value)) return { reason: "REFERENCE_NOT_FOUND", error: value.error };
    invariant(value !== "TOO_LARGE", "the items of a map do not come from the results of a map");
    // A reference to a node without a result stands for null, whatever its path.
    const counted = value === undefined ? "NOT_AN_ARRAY" : await this.#turns.steps(value.counting(path));
    if (value !== undefined) cache.keep(source.key, value, value.weight);
    const place = `${from === INPUT ? "the input" : "the result"} at the path ${JSON.stringify(path)}`;
    if (counted === "NOT_FOUND")
      return failure("REFERENCE_NOT_FOUND", `the items of the map lead nowhere: there is no ${place.slice(4)}`);
    if (counted === "NOT_AN_ARRAY")
      return failure("ITEMS_NOT_AN_ARRAY", `the items of the map are no array: ${place} is another value`);
    if (counted <= MAP_ITEMS_MAX) return counted;
    return failure("TOO_MANY_ITEMS", `the map has ${counted} items: at most ${MAP_ITEMS_MAX} are possible`);
  }

  /**
   * Forgets all results and kept nodes, because the store may have been set back to a state before them. Reads that are under
   * way keep theirs in the caches that they began with.
   */
  forget(): void {
    this.#kept = new WeightedCache(KEPT_BYTES_MAX);
    this.#keepers = new WeightedCache(KEPT_NODES_MAX);
  }

  /** Results and inputs, as far as there are any, by key. */
  async #values(sources: readonly Source[]): Promise<Map<string, SourceValue>> {
    const found = new Map<string, SourceValue>();
    const [results, inputs, maps]: [Source[], ExecutionId[], Source[]] = [[], [], []];
    for (const source of sources) {
      const kept = this.#kept.take(source.key);
      if (kept !== undefined) found.set(source.key, kept);
      else if (source.isMap) maps.push(source);
      else if (source.node === INPUT) inputs.push(source.id);
      else results.push(source);
    }
    for (const [id, value] of await this.#results(results)) found.set(id, value);
    if (inputs.length > 0) for (const [id, value] of await this.#inputs(inputs)) found.set(inputKey(id), value);
    for (const source of maps) {
      const value = await this.#arrayOf(source);
      if (value !== null) found.set(source.key, value);
    }
    return found;
  }

  /** Inputs of runs. That of a sub-workflow is the payload of its node, with the references replaced. */
  async #inputs(runs: readonly ExecutionId[]): Promise<Map<ExecutionId, SourceValue>> {
    const found = new Map<ExecutionId, SourceValue>();
    const nested = new Map<ExecutionId, Uint8Array>();
    for (const [id, input] of await this.#store.payloads(runs)) {
      if (isTemplate(input)) nested.set(id, input);
      else found.set(id, new JsonValue(input));
    }
    if (nested.size === 0) return found;
    const origins = [...(await this.#store.runs.origins([...nested.keys()]))];
    const wanted = origins.map(([id, { run, item }]) => ({ run, item, stored: nested.get(id) ?? NULL }));
    for (const [i, filled] of (await this.resolve(wanted)).entries()) {
      const [id] = origins[i] as (typeof origins)[number];
      found.set(id, filled instanceof Uint8Array ? new JsonValue(filled) : filled);
    }
    return found;
  }

  /** Results of the items of a map; null: there are none. */
  async #arrayOf({ run, node: map }: Source): Promise<ResultArray["value"] | null> {
    const kept = (await this.#keptOf(new Set([run]))).get(run)?.all ?? [];
    const read = await readResultArray(this.#store.runs, { run, map, kept }, this.#turns);
    if (read === null) return null;
    if (read.value !== "TOO_LARGE" && !read.isFinal) this.#unsettled.add(read.value);
    return read.value;
  }

  /** Results of nodes, as far as there are any, from this run or from the earlier run from which this one keeps the node. */
  async #results(sources: readonly Source[]): Promise<Map<ExecutionId, JsonValue>> {
    const found = await this.#read(sources.map(({ id }) => id));
    const missing = sources.filter(({ id }) => !found.has(id));
    if (missing.length === 0) return found;
    const kept = await this.#keptOf(new Set(missing.map(({ run }) => run)));
    const keepers = new Map<ExecutionId, ExecutionId>();
    for (const { id, run, node } of missing) {
      const earlier = kept.get(run)?.byNode.get(node);
      if (earlier !== undefined) keepers.set(nodeExecutionId(earlier.run, node, null, 0), id);
    }
    for (const [id, value] of await this.#read([...keepers.keys()])) found.set(keepers.get(id) as ExecutionId, value);
    return found;
  }

  /** Nodes that the runs keep from earlier runs. @throws {StoreUnavailable} */
  async #keptOf(runs: ReadonlySet<ExecutionId>): Promise<Map<ExecutionId, KeptOfRun>> {
    const keepers = this.#keepers;
    const found = new Map<ExecutionId, KeptOfRun>();
    const unknown: ExecutionId[] = [];
    for (const run of runs) {
      const known = keepers.use(run);
      if (known === undefined) unknown.push(run);
      else found.set(run, known);
    }
    const read = unknown.length === 0 ? new Map() : await this.#store.runs.kept(unknown);
    for (const run of unknown) {
      const all = read.get(run) ?? [];
      const kept = { all, byNode: keptByNode(all) };
      found.set(run, kept);
      keepers.keep(run, kept, weightOf(all) + RUN_WEIGHT);
    }
    return found;
  }

  async #read(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, JsonValue>> {
    if (ids.length === 0) return new Map();
    const results = await this.#store.runs.results(ids);
    return new Map([...results].map(([id, result]) => [id, new JsonValue(result ?? NULL)]));
  }

  /** @param value null: there is no result */
  async #use(cache: WeightedCache<JsonValue>, source: string, value: SourceValue | null, uses: readonly Use[]) {
    for (const { filling, edit } of uses) {
      if (value === null) filling.put(edit, NULL);
      else if (value === "TOO_LARGE") filling.tooLarge(edit);
      else if (isFailure(value)) filling.fail(value);
      else await this.#turns.steps(filling.putting(edit, value));
    }
    // An index that a use has built counts from now on.
    if (value instanceof JsonValue && !this.#unsettled.has(value)) cache.keep(source, value, value.weight);
  }
}

/** Weight of parts that a run keeps, in nodes. A set of items weighs by its text. */
function weightOf(kept: readonly KeptNodes[]): number {
  const ofItems = kept.flatMap(({ items = [] }) => items.map(([, ranges]) => ranges.length));
  return kept.reduce((sum, { nodes }) => sum + nodes.length, 0) + ofItems.reduce((sum, chars) => sum + chars / 8, 0);
}

function usesOf(fillings: readonly Filling[]): Map<string, Use[]> {
  const uses = new Map<string, Use[]>();
  for (const filling of fillings) {
    for (const edit of filling.references) {
      const { key } = filling.sourceOf(edit);
      const known = uses.get(key);
      if (known === undefined) uses.set(key, [{ filling, edit }]);
      else known.push({ filling, edit });
    }
  }
  return uses;
}

/** A template whose references are being replaced. */
class Filling {
  readonly #run: ExecutionId;
  readonly #item: number | null;
  readonly #template: Template;
  readonly #values: Uint8Array[];
  /** Bytes of the text with the values so far. */
  #bytes: number;
  #failed: Pick<Unsendable, "reason" | "error"> | null = null;

  constructor({ run, item, stored }: Referring) {
    this.#run = run;
    this.#item = item;
    this.#template = decodeTemplate(stored);
    const { text, edits } = this.#template;
    this.#bytes = text.length;
    this.#values = edits.map((edit) => ownValue(text, edit, item));
    for (const [number, { at }] of edits.entries()) {
      this.#bytes -= at.end - at.start;
      if (!isReference(edits[number] as Template["edits"][number]))
        this.#bytes += (this.#values[number] as Uint8Array).length;
    }
  }

  /** Numbers of the edits that are references. */
  get references(): number[] {
    return this.#template.edits.flatMap((edit, number) => (isReference(edit) ? [number] : []));
  }

  /** Execution whose result, or input, the reference refers to. */
  sourceOf(edit: number): Source {
    const reference = this.#reference(edit);
    return "results" in reference
      ? { ...sourceOf(this.#run, reference.results), isMap: true }
      : sourceOf(this.#run, reference.from);
  }

  /** Notes that the results of a map have too many bytes. */
  tooLarge(edit: number): void {
    const reference = referenceText(this.#template, this.#reference(edit));
    const { $results: map } = JSON.parse(reference) as { $results: string };
    const url = `GET /v1/workflows/${this.#run}/results?node=${encodeURIComponent(map)}`;
    const message = `the reference ${reference} stands for more than ${PAYLOAD_BYTES_MAX} bytes: leave it out, and read the results by page, with ${url} or workflows.results of the SDK's client`;
    this.#fail("REFERENCES_TOO_LARGE", message);
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
    const reference = this.#reference(edit);
    const { depth } = reference;
    const slice = yield* value.finding("results" in reference ? [] : pathOf(reference, this.#item));
    if (slice === null) return this.#notFound(reference as ReferenceEdit);
    if (depth + value.depth > DEPTH_MAX && depth + depthOf(value.bytes, slice) > DEPTH_MAX) {
      const message = `the JSON with its references replaced is nested deeper than ${DEPTH_MAX} levels`;
      return this.#fail("REFERENCES_TOO_LARGE", message);
    }
    // A copy, because a part of a result must not keep the whole result in memory.
    this.put(edit, new Uint8Array(value.bytes.subarray(slice.start, slice.end)));
  }

  /** Notes that a value of the text cannot be known. */
  fail(failure: InputFailure): void {
    this.#failed ??= failure;
  }

  text(): Filled {
    return this.#failed ?? assembled(this.#template, this.#values);
  }

  #notFound(edit: ReferenceEdit): void {
    const whole = edit.from === INPUT ? "the input" : "the result of the node";
    const of = edit.item === undefined ? whole : `the item ${this.#item}`;
    const reference = referenceText(this.#template, edit);
    this.#fail("REFERENCE_NOT_FOUND", `the reference ${reference} leads nowhere: ${of} has nothing at this path`);
  }

  #fail(reason: Unsendable["reason"], message: string): void {
    this.#failed ??= { reason, error: { name: NAMES[reason], message } };
  }

  #reference(edit: number): ReferenceEdit | ResultsEdit {
    return this.#template.edits[edit] as ReferenceEdit | ResultsEdit;
  }
}

function sourceOf(run: ExecutionId, node: number): Source {
  if (node === INPUT) return { id: run, key: inputKey(run), run, node, isMap: false };
  const id = nodeExecutionId(run, node, null, 0);
  return { id, key: id, run, node, isMap: false };
}

function inputKey(run: ExecutionId): string {
  return `input ${run}`;
}

function isFailure(value: SourceValue | undefined): value is InputFailure {
  return typeof value === "object" && !(value instanceof JsonValue);
}

function isReference(edit: Template["edits"][number]): boolean {
  return "from" in edit || "results" in edit;
}

function pathOf({ path, item: part }: ReferenceEdit, item: number | null): ReferenceEdit["path"] {
  return part === undefined ? path : [...path, item ?? 0, ...part];
}

/** Value of an edit that needs no result; null for others. */
function ownValue(text: Uint8Array, edit: Template["edits"][number], item: number | null): Uint8Array {
  if ("value" in edit) return text.subarray(edit.value.start, edit.value.end);
  return "index" in edit ? new TextEncoder().encode(String(item)) : NULL;
}

function failure(reason: MapFailure["reason"], message: string): MapFailure {
  return { reason, error: { name: FAILURES[reason], message } };
}
