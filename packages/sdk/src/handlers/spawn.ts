import type { SpawnedNodeReport } from "../session/work.ts";
import type { Task } from "../task.ts";
import type { NodePolicies, WorkflowDependency, WorkflowTarget } from "../workflows/workflow-requests.ts";
import { isBranchName } from "./branch.ts";
import { TerminalError } from "./retry-errors.ts";

/** Node that a handler adds to the run of its own node: a task, or a handler and a pool by name. */
export type SpawnNode = NodePolicies & {
  /** Unique among the nodes that the attempt adds: 1 to 64 characters of A-Z a-z 0-9 _ . - The run names it `SPAWNER/NAME`. */
  name: string;
  /**
   * Input of the handler: any JSON value. In it, `{ $from: "node", path: ["a", 0] }` stands for the result of an added node
   * before this one; `$from: "$spawner"` for the result of the node that adds it, and `$from: "$input"` for the input of
   * the workflow. `{ $literal: value }` takes a value as it is.
   */
  payload?: unknown;
  /** Added nodes that must end first; absent: the node runs when the node that adds it has SUCCEEDED. */
  dependsOn?: readonly WorkflowDependency[];
  /** ALL (default): the node runs when all dependencies are met. ANY: when one is met. */
  join?: "ALL" | "ANY";
  /** Whether the run can succeed although the node is DEAD or CANCELLED; default false. */
  allowFailure?: boolean;
} & ({ task: Pick<Task, "name" | "pool" | "policies">; target?: never } | { target: WorkflowTarget; task?: never });

export interface SpawnOptions {
  /** Whether the nodes that depend on the node that adds these nodes do not wait for them; default false. */
  detached?: boolean;
}

/** Largest number of nodes that an attempt adds, and their size in bytes; those of the server. */
const NODES_MAX = 1_000;
const BYTES_MAX = 1024 * 1024;

const POLICIES = ["retryPolicy", "timeoutSec", "cancelGraceSec", "maxLost", "onWorkerLost", "priority"] as const;
const FIELDS: readonly string[] = [
  ...["name", "task", "target", "payload", "dependsOn", "join", "allowFailure"],
  ...POLICIES,
];

/** Nodes that an attempt adds to its run. */
export class SpawnedNodes {
  readonly #maySpawn: boolean;
  readonly #nodes = new Map<string, SpawnedNodeReport>();
  #bytes = 0;

  /** @param maySpawn whether the attempt runs a node of a workflow that may add nodes */
  constructor(maySpawn: boolean) {
    this.#maySpawn = maySpawn;
  }

  /** All nodes that were added; undefined: none. */
  get all(): readonly SpawnedNodeReport[] | undefined {
    return this.#nodes.size === 0 ? undefined : [...this.#nodes.values()];
  }

  /**
   * @returns the nodes as the server takes them
   * @throws {TerminalError} InvalidSpawn; none of the nodes is added then
   */
  add(nodes: readonly SpawnNode[], options: SpawnOptions = {}): SpawnedNodeReport[] {
    if (!this.#maySpawn) {
      throw invalid(
        "only the handler of a workflow's node adds nodes; jobs, items of maps, compensations and nodes with a concurrency key do not. " +
          "A node without a key after this one may",
      );
    }
    const detached = detachedOf(options);
    if (!Array.isArray(nodes)) throw invalid("takes a list of nodes, such as [{ name, task, payload }]");
    const reports = nodes.map((node) => reportOf(node, detached));
    const names = new Set(this.#nodes.keys());
    for (const { name } of reports) {
      if (names.has(name)) throw invalid(`${aboutNode(name)}: the attempt adds another node of this name`);
      names.add(name);
    }
    if (names.size > NODES_MAX)
      throw invalid(
        `an attempt adds at most ${NODES_MAX} nodes, and these are ${names.size}: an added node may add more`,
      );
    const bytes = reports.reduce((sum, report) => sum + sizeOf(report), this.#bytes);
    if (bytes > BYTES_MAX) {
      const rest = "give handlers the addresses of large data";
      throw invalid(`the nodes of an attempt have at most ${BYTES_MAX} bytes, and these have ${bytes}: ${rest}`);
    }
    this.#bytes = bytes;
    for (const report of reports) this.#nodes.set(report.name, report);
    return reports;
  }
}

/** @throws {TerminalError} InvalidSpawn */
function detachedOf(options: SpawnOptions): boolean {
  const { detached = false, ...others } = Object(options) as SpawnOptions;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalid(`there is no option ${unknown}; the option is detached`);
  if (typeof detached !== "boolean") throw invalid("the option detached is true or false");
  return detached;
}

/** Node as a handler adds it, from a report that was made of one. @throws {SyntaxError} the report has no JSON texts */
export function nodeOfReport({ name, definition, payload }: SpawnedNodeReport): SpawnNode & SpawnOptions {
  const given = JSON.parse(definition) as Omit<SpawnNode & { target: WorkflowTarget }, "name"> & SpawnOptions;
  return { ...given, name, ...(payload !== "" && { payload: JSON.parse(payload) as unknown }) } as SpawnNode &
    SpawnOptions;
}

/** @throws {TerminalError} InvalidSpawn */
function reportOf(node: SpawnNode, detached: boolean): SpawnedNodeReport {
  const { name, payload, task, target } = Object(node) as SpawnNode;
  if (!isBranchName(name)) {
    throw invalid(
      `a node needs a name of 1 to 64 letters, digits, "_", "." and "-", not ${JSON.stringify(name)?.slice(0, 100)}`,
    );
  }
  const about = aboutNode(name);
  const unknown = Object.keys(node).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw invalid(`${about}: there is no field ${unknown}; fields are ${FIELDS.join(", ")}`);
  if ((task === undefined) === (target === undefined)) throw invalid(`${about} needs either a task or a target`);
  if (task !== undefined && typeof Object(task).name !== "string")
    throw invalid(`${about}: its task is none that task() returns`);
  const definition = JSON.stringify({
    target: target ?? targetOf(task as NonNullable<typeof task>),
    dependsOn: node.dependsOn,
    join: node.join,
    allowFailure: node.allowFailure,
    ...(detached && { detached }),
    ...policiesOf(node, about),
  });
  return { name, definition, payload: textOf(payload, about) };
}

function targetOf({ name, pool }: Pick<Task, "name" | "pool">): WorkflowTarget {
  return { handler: name, ...(pool !== undefined && { pool }) };
}

/** The node's own policies, else those of its task. @throws {TerminalError} InvalidSpawn */
function policiesOf(node: SpawnNode, about: string): NodePolicies {
  const declared = JSON.parse(node.task?.policies ?? "{}") as NodePolicies & { concurrencyKey?: unknown };
  if (declared.concurrencyKey !== undefined) {
    throw invalid(`${about}: its task declares a concurrencyKey, and added nodes have none`);
  }
  const policies: Record<string, unknown> = {};
  for (const name of POLICIES) policies[name] = node[name] ?? declared[name];
  return policies;
}

function textOf(payload: unknown, about: string): string {
  try {
    return payload === undefined ? "" : (JSON.stringify(payload) ?? "");
  } catch (error) {
    throw invalid(`${about}: JSON has no form for its payload: ${(error as Error).message}`);
  }
}

function aboutNode(name: string): string {
  return `node ${JSON.stringify(name)}`;
}

function sizeOf({ name, definition, payload }: SpawnedNodeReport): number {
  return name.length + Buffer.byteLength(definition) + Buffer.byteLength(payload);
}

/** Error of a call after the end of its attempt, which has sent its nodes or dropped them. */
export function spawnedTooLate(): TerminalError {
  return invalid("the attempt has ended: add nodes before the handler returns, and await everything that adds them");
}

function invalid(message: string): TerminalError {
  return Object.assign(new TerminalError(`ctx.spawn: ${message}`), { name: "InvalidSpawn" });
}

/** Whether a message's nodes have the form of those that `add` makes. */
export function areReports(nodes: unknown): nodes is SpawnedNodeReport[] {
  return (
    Array.isArray(nodes) &&
    nodes.every((node: unknown) => {
      const { name, definition, payload } = Object(node) as Record<string, unknown>;
      return isBranchName(name) && typeof definition === "string" && typeof payload === "string";
    })
  );
}
