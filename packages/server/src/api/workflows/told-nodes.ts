import { NODE_STATES, type NodeState } from "@mainspring/contract/enums";
import { isFinal } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import type { RunProgress } from "../../domain/workflow/readiness.ts";
import type { NodeSummary } from "../../ports/store-runs.ts";
import type { Overlaid } from "../executions/live.ts";
import type { RunCursor } from "./run-event-id.ts";
import { pictureProgress, progressMode, type RunPicture, stateOfCompensation, stateOfNode } from "./run-picture.ts";

/**
 * Time before the last event of a client within which changes count as unseen, in milliseconds. Nodes of the cluster may
 * have clocks that differ by seconds, and the rows of a large run are not read at one moment.
 */
const REPEATED_MS = 10_000;
const STATES_MAX = 16;

/**
 * States of a run's nodes and their compensations as a client knows them, one number each: a state and an attempt. 0: there
 * has never been an execution, as far as the client knows.
 */
export class ToldNodes {
  #codes: Int32Array;
  #compensations: Int32Array;

  private constructor(codes: Int32Array) {
    this.#codes = codes;
    this.#compensations = new Int32Array(codes.length);
  }

  /** States that a client knows that has seen the events up to a cursor. */
  static until(picture: RunPicture, cursor: RunCursor): ToldNodes {
    const codes = new Int32Array(picture.graph.nodeCount);
    const told = new ToldNodes(codes);
    if (cursor.at === 0) return told;
    const until = cursor.at - REPEATED_MS;
    const seen = { ...picture, progress: progressUntil(picture, cursor, until) };
    for (const node of codes.keys()) {
      const row = picture.executions.get(node);
      if (row === undefined) codes[node] = codeOf(seen, node);
      else if (changedAt(row) <= until) codes[node] = codeOf(picture, node);
    }
    for (const [node, row] of picture.compensations) {
      if (changedAt(row) <= until) told.#compensations[node] = compensationCode(picture, node);
    }
    return told;
  }

  /** Nodes whose states the client does not know, by the times at which the states began; SKIPPED ones last. */
  changes(picture: RunPicture): number[] {
    const { executions, compensations, graph } = picture;
    this.#grow(graph.nodeCount);
    const at = (node: number) => changedAt(compensations.get(node) ?? executions.get(node) ?? null);
    const changed = Array.from(graph.order).filter(
      (node) =>
        isNews(codeOf(picture, node), this.#codes[node] as number) ||
        isNews(compensationCode(picture, node), this.#compensations[node] as number),
    );
    return changed.sort((a, b) => compare(at(a), at(b)));
  }

  /** Makes room for the nodes that handlers have added since the last picture. */
  #grow(count: number): void {
    if (count <= this.#codes.length) return;
    const [codes, compensations] = [new Int32Array(count), new Int32Array(count)];
    codes.set(this.#codes);
    compensations.set(this.#compensations);
    this.#codes = codes;
    this.#compensations = compensations;
  }

  tell(picture: RunPicture, node: number): void {
    this.#codes[node] = codeOf(picture, node);
    this.#compensations[node] = compensationCode(picture, node);
  }
}

/** An owner that does not answer leaves older states to the picture, and no execution goes back to an earlier attempt. */
function isNews(code: number, told: number): boolean {
  return code !== told && Math.floor(code / STATES_MAX) >= Math.floor(told / STATES_MAX);
}

/** Time of the latest change of a node that the picture shows; 0: there is none. */
export function latestChange({ executions, compensations }: RunPicture): EpochMs {
  let latest = 0;
  for (const rows of [executions, compensations]) {
    for (const row of rows.values()) latest = Math.max(latest, changedAt(row));
  }
  return latest;
}

/** Time at which the state of a node began. Nodes without an execution change after all others. */
function changedAt(row: Overlaid<NodeSummary> | null): EpochMs {
  if (row === null) return Number.POSITIVE_INFINITY;
  if (isFinal(row.state)) return row.finishedAt ?? row.updatedAt;
  return row.since ?? Math.max(row.createdAt, row.updatedAt);
}

/** Progress of the run as it was at a time. */
function progressUntil({ run, graph, executions, items }: RunPicture, cursor: RunCursor, until: EpochMs): RunProgress {
  const mode = cursor.mode === "COMPENSATING" ? run.mode : cursor.mode;
  const isOver = (row: NodeSummary) => isFinal(row.state) && changedAt(row) <= until;
  const rows = [...executions.values()]
    .filter(({ createdAt }) => createdAt <= until)
    .map((row) => (isOver(row) ? row : { ...row, state: "RUNNING" as const }));
  return pictureProgress(graph, run, rows, items, progressMode(mode));
}

/** A node that waits for its execution has none, and counts as BLOCKED. */
function codeOf(picture: RunPicture, node: number): number {
  const row = picture.executions.get(node);
  const state = stateOfNode(picture, node);
  if (picture.graph.isMap(node)) return codeOfMap(picture, node, state);
  if (row === undefined && state !== "SKIPPED" && !picture.kept.has(node)) return 0;
  return NODE_STATES.indexOf(state) + STATES_MAX * (row?.attempt ?? 0);
}

/** A map is news when its state changes. Its counts change too often. */
function codeOfMap({ progress }: RunPicture, node: number, state: NodeState): number {
  const isUntold = ["BLOCKED", "READY"].includes(progress.stateOf(node));
  return isUntold ? 0 : NODE_STATES.indexOf(state);
}

/** A compensation that waits is no news: the mode of the run tells of it. */
function compensationCode(picture: RunPicture, node: number): number {
  const state = stateOfCompensation(picture, node);
  if (state === null || state === "BLOCKED") return 0;
  const row = picture.compensations.get(node);
  if (row === undefined && state === "PENDING") return 0;
  return NODE_STATES.indexOf(state) + STATES_MAX * (row?.attempt ?? 0);
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
