import type { ExecutionState } from "../../../domain/execution.ts";
import type { ExecutionId, JobId } from "../../../domain/ids.ts";
import type { KeptNodes } from "../../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../../domain/workflow/map-counts.ts";
import type { RunChange, RunMode, RunOutcome } from "../../../ports/store-runs.ts";
import { idBytes, idOf } from "../bytes.ts";
import { stateOfCode } from "../record.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { partName } from "./graphs.ts";

/**
 * Fields of a run beside the record of its execution, in the hash `rn<run>`. Its fields are `v` (revision), `m` (letter of the mode, and 1 if the
 * run is paused), `o` (outcome), `c` (counts of maps), `k` (kept nodes), `w` (id of the workflow), `s` with the first number of a part
 * (its nodes, and the attempt that has added them), and `n` with a digit (number of the executions of nodes in the state of this code).
 */
export interface StoredRun {
  revision: number;
  mode: RunMode;
  paused: boolean;
  outcome: RunOutcome | null;
  mapCounts: readonly MapCount[];
  kept: readonly KeptNodes[];
  /** Id of the sub-workflow, or of the job. */
  workflow: JobId;
  /** Parts by their first numbers, ascending. */
  parts: readonly PartOfRun[];
  /** Numbers of executions of nodes. */
  counts: Partial<Record<ExecutionState, number>>;
}

export interface PartOfRun {
  first: number;
  nodes: number;
  /** Name of its body. */
  name: Buffer;
}

/** Letters of modes. They never change, because stored records have them. */
const MODES: Readonly<Record<string, RunMode>> = { R: "RUNNING", F: "FAILING", C: "CANCELLING", E: "EXPIRING" };
/** Bytes of a member of the indexes of nodes before the id: the node and the item. */
export const PLACE_BYTES = 8;
/** Runs of one call. */
const PER_CALL = 64;

/** Name of an index or record of a run, or of what belongs to it. */
export function runKey(letters: string, run: ExecutionId): Buffer {
  return Buffer.concat([Buffer.from(letters), idBytes(run)]);
}

/** Fields of a changed run; see `RunChange` for those that are left out. */
export function runFields(
  change: Pick<RunChange, "revision" | "mode" | "paused" | "outcome" | "mapCounts"> & {
    kept?: readonly KeptNodes[];
    workflow?: JobId | undefined;
  },
): RedisArgument[] {
  const { revision, mode, paused, outcome, mapCounts, kept = [], workflow } = change;
  return [
    ...["v", `${revision}`, "m", `${mode.slice(0, 1)}${paused ? 1 : 0}`],
    ...(outcome === undefined ? [] : ["o", JSON.stringify(outcome)]),
    ...(mapCounts === undefined ? [] : ["c", JSON.stringify(mapCounts)]),
    ...(kept.length === 0 ? [] : ["k", JSON.stringify(kept)]),
    ...(workflow === undefined ? [] : ["w", idBytes(workflow)]),
  ];
}

/** Runs in the order of the ids; null: there is none. */
export async function readRuns(db: RedisConnection, ids: readonly ExecutionId[]): Promise<(StoredRun | null)[]> {
  const found: (StoredRun | null)[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const part = ids.slice(from, from + PER_CALL);
    const answers = await db.call(part.map((id) => ["HGETALL", db.key(runKey("rn", id))]));
    found.push(...answers.map((answer, i) => storedRun(part[i] as ExecutionId, answer as Buffer[])));
  }
  return found;
}

function storedRun(run: ExecutionId, answer: readonly Buffer[]): StoredRun | null {
  const fields = new Map<string, Buffer>();
  const parts: PartOfRun[] = [];
  const counts: StoredRun["counts"] = {};
  for (let i = 0; i < answer.length; i += 2) {
    const [name, value] = answer.slice(i, i + 2) as [Buffer, Buffer];
    const letter = String.fromCharCode(name[0] as number);
    if (letter === "s") parts.push(partOf(run, name.readUInt32BE(1), value));
    else if (letter !== "n") fields.set(letter, value);
    else if (Number(value) > 0) counts[stateOfCode(Number(name.subarray(1)))] = Number(value);
  }
  const [revision, mode] = [fields.get("v"), String(fields.get("m"))];
  if (revision === undefined) return null;
  const json = <T>(letter: string, otherwise: T) => {
    const text = fields.get(letter);
    return text === undefined ? otherwise : (JSON.parse(String(text)) as T);
  };
  return {
    ...{ revision: Number(revision), mode: MODES[mode.slice(0, 1)] as RunMode, paused: mode.slice(1) === "1" },
    ...{ outcome: json("o", null), mapCounts: json("c", []), kept: json("k", []) },
    ...{ workflow: idOf(fields.get("w") as Buffer), counts },
    parts: parts.sort((a, b) => a.first - b.first),
  };
}

function partOf(run: ExecutionId, first: number, value: Buffer): PartOfRun {
  return { first, nodes: value.readUInt32BE(), name: partName(run, first, value.readUInt32BE(4)) };
}
