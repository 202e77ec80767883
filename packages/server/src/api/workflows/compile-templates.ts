import { OUTPUT_BYTES_MAX, PAYLOAD_BYTES_MAX, WORKFLOW_REFERENCES_MAX } from "@mainspring/contract/limits";
import { compensationOf, isCompensation, nodeOfCompensation } from "../../domain/workflow/compensation-number.ts";
import type { WorkflowNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { quoted } from "../../domain/workflow/graph-problems.ts";
import { type Referral, strangers } from "../../domain/workflow/strangers.ts";
import { encodeTemplate, INPUT, type Template } from "../../ports/references/template.ts";
import { numberOf, type ScannedEdit, scanningTemplate } from "../../ports/references/template-scan.ts";
import type { Turns } from "../../ports/turns.ts";
import { type FieldError, invalid, ProblemError, problem } from "../http/errors.ts";
import { Faults, nodeFault } from "./node-faults.ts";

/** Texts in which references may stand; a key that begins with `$` may be written with an escape. */
const SIGNS = ['"$', "\\u0024"];

/** Reference to the results of a map, where a payload refers to it as to a node. */
const RIGHT = { payload: ': {"$results": …} stands for the list of the results of its items', map: "" };

interface Texts {
  nodes: readonly Pick<WorkflowNode, "name" | "map">[];
  /** JSON texts by number of the node or of its compensation; those without one are left out. */
  payloads: ReadonlyMap<number, Uint8Array>;
  /** JSON text; null: none. */
  output: Uint8Array | null;
  hasInput: boolean;
}

/** The same texts for the store: a text with references or literals is a template. */
type Compiled = Pick<Texts, "payloads" | "output">;

/** @throws {ProblemError} 413: the input or output of a workflow is too large */
export function refuseLarge({ input, output }: { input: Uint8Array | null; output: Uint8Array | null }): void {
  for (const [field, text, max] of [
    ["input", input, PAYLOAD_BYTES_MAX],
    ["output", output, OUTPUT_BYTES_MAX],
  ] as const) {
    if (text === null || text.length <= max) continue;
    const message = `has ${text.length} bytes: at most ${max} are taken`;
    throw new ProblemError(problem("payload-too-large", `${field} ${message}`, [{ field, message }]));
  }
}

/**
 * Compiles the payloads of nodes and the output of a workflow, in turns of the event loop.
 * @throws {ProblemError} 400: a reference is wrong, names no node, or names a node that need not end before
 */
export async function compileTemplates(texts: Texts, graph: WorkflowGraph, turns: Turns): Promise<Compiled> {
  const compiler = new TemplateCompiler(texts);
  const compiled = await turns.steps(compiler.compiling());
  compiler.refuse();
  compiler.refuseStrangers(await turns.steps(strangers(graph, compiler.referrals)));
  const ofCompensations = await turns.steps(strangers(graph, compiler.compensationReferrals));
  compiler.refuseStrangers(ofCompensations.map(({ node, from }) => ({ node: compensationOf(node), from })));
  return compiled;
}

class TemplateCompiler {
  /** Nodes that each node refers to. */
  readonly referrals = new Map<number, Set<number>>();
  /** Other nodes that the compensation of each node refers to. */
  readonly compensationReferrals = new Map<number, Set<number>>();
  readonly #texts: Texts;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #faults = new Faults();
  #count = 0;

  constructor(texts: Texts) {
    this.#texts = texts;
    this.#numbers = new Map(texts.nodes.map(({ name }, number) => [name, number]));
  }

  *compiling(): Generator<undefined, Compiled> {
    const payloads = new Map<number, Uint8Array>();
    for (const [node, text] of this.#texts.payloads) {
      payloads.set(node, yield* this.#compiled(text, node));
      yield;
    }
    for (const [node, { map }] of this.#texts.nodes.entries()) {
      if (map === undefined) continue;
      this.#sourceOf(node, map.from, "map");
      yield;
    }
    const { output } = this.#texts;
    return { payloads, output: output === null ? null : yield* this.#compiled(output, null) };
  }

  /** @throws {ProblemError} there are faults */
  refuse(): void {
    if (this.#faults.list.length > 0) throw new ProblemError(invalid(this.#faults.list));
  }

  /** @throws {ProblemError} there are such nodes */
  refuseStrangers(found: readonly Referral[]): void {
    for (const { node, from } of found.slice(0, this.#faults.room)) {
      const name = quoted(this.#texts.nodes[from]?.name ?? "");
      const have = isCompensation(node)
        ? "only the node itself and the nodes before it"
        : "only the nodes before a node";
      this.#fault(node, `refers to ${name}, which need not end before it: ${have} have results for it`);
    }
    this.refuse();
  }

  /** @param node number of the node or of its compensation; null: the output */
  *#compiled(text: Uint8Array, node: number | null): Generator<undefined, Uint8Array> {
    if (!mayRefer(text)) return text;
    const scanned = yield* scanningTemplate(text);
    if ("problem" in scanned) this.#fault(node, scanned.problem);
    if ("problem" in scanned || scanned.edits.length === 0) return text;
    const edits = scanned.edits.map((edit) => this.#numbered(edit, node));
    this.#count += edits.length;
    if (this.#count > WORKFLOW_REFERENCES_MAX) {
      const message = `is beyond the limit of ${WORKFLOW_REFERENCES_MAX} references and literals of a workflow`;
      throw new ProblemError(invalid([this.#faultOf(node, message)]));
    }
    return encodeTemplate({ text, edits });
  }

  #numbered(edit: ScannedEdit, node: number | null): Template["edits"][number] {
    if ("from" in edit) return { ...edit, from: this.#sourceOf(node, edit.from, "payload") };
    if ("results" in edit) return { ...edit, results: this.#mapOf(node, edit.results) };
    if ("value" in edit) return edit;
    const map = node === null ? undefined : this.#texts.nodes[node]?.map;
    if (map === undefined) this.#fault(node, "has $item or $index, and the node has no map");
    if ("index" in edit) return edit;
    const from = map === undefined ? INPUT : (numberOf(map.from, this.#numbers) ?? INPUT);
    return { ...edit, from, path: map?.path ?? [] };
  }

  /** @param field part of the node that refers to `name` */
  #sourceOf(node: number | null, name: string, field: "payload" | "map"): number {
    const from = numberOf(name, this.#numbers);
    if (from === undefined) this.#fault(node, `refers to ${quoted(name)}, which is no node`, field);
    else if (from === INPUT && !this.#texts.hasInput)
      this.#fault(node, "refers to $input, and the workflow has no input", field);
    else if (from !== INPUT && this.#texts.nodes[from]?.map !== undefined)
      this.#fault(node, `refers to ${quoted(name)}, which is a map and has no result of its own${RIGHT[field]}`, field);
    else if (from !== INPUT && node !== null) this.#refer(node, from);
    return from ?? INPUT;
  }

  /** Number of the map to whose results a node, or the output, refers. */
  #mapOf(node: number | null, name: string): number {
    const map = this.#numbers.get(name);
    if (map === undefined) this.#fault(node, `refers to ${quoted(name)}, which is no node`);
    else if (this.#texts.nodes[map]?.map === undefined)
      this.#fault(
        node,
        `refers to the results of ${quoted(name)}, which is no map: {"$from": ${quoted(name)}} is its result`,
      );
    else if (node !== null) this.#refer(node, map);
    return map ?? INPUT;
  }

  #refer(number: number, from: number): void {
    const isOfNode = !isCompensation(number);
    const node = isOfNode ? number : nodeOfCompensation(number);
    // A compensation runs only if its node SUCCEEDED.
    if (!isOfNode && node === from) return;
    const referrals = isOfNode ? this.referrals : this.compensationReferrals;
    const sources = referrals.get(node);
    if (sources === undefined) referrals.set(node, new Set([from]));
    else sources.add(from);
  }

  #fault(node: number | null, message: string, field = "payload"): void {
    this.#faults.add(this.#faultOf(node, message, field));
  }

  #faultOf(node: number | null, message: string, field = "payload"): FieldError {
    if (node === null) return { field: "output", message };
    const of = isCompensation(node) ? nodeOfCompensation(node) : node;
    const place = isCompensation(node) ? `compensate.${field}` : field;
    return nodeFault(of, this.#texts.nodes[of]?.name, { field: place, message });
  }
}

function mayRefer({ buffer, byteOffset, length }: Uint8Array): boolean {
  const bytes = Buffer.from(buffer, byteOffset, length);
  return SIGNS.some((sign) => bytes.includes(sign));
}
