/** Largest number of problems of one definition that are reported. */
const PROBLEMS_MAX = 8;
/** Longest part of a name that a problem repeats, in characters; a valid name is not longer. */
const SHOWN_CHARS_MAX = 64;
/** Largest number of names along a cycle that a text repeats. */
const CYCLE_NAMES_MAX = 20;

type GraphProblemKind =
  | "NO_NODES"
  | "TOO_MANY_NODES"
  | "TOO_MANY_EDGES"
  | "TOO_MANY_BRANCHES"
  | "TOO_MANY_MAPS"
  | "BAD_NAME"
  | "DOUBLED_NAME"
  | "UNKNOWN_PARENT"
  | "BAD_CONDITION"
  | "SELF_EDGE"
  | "DOUBLED_EDGE"
  | "CYCLE";

/** Reason why a definition is no graph. */
export interface GraphProblem {
  kind: GraphProblemKind;
  /**
   * Name of the node that has the problem, cut if it is too long for a name; for a limit, the first node beyond it. null:
   * there are no nodes.
   */
  node: string | null;
  /** A sentence for the author of the definition. */
  text: string;
  /** CYCLE: names along the cycle, parents first, the first name again at the end. Left out for other kinds. */
  cycle?: readonly string[];
}

/** Collects the first problems of a definition. */
export class GraphProblems {
  readonly list: GraphProblem[] = [];

  get isFull(): boolean {
    return this.list.length >= PROBLEMS_MAX;
  }

  /** Number of problems that still fit. */
  get room(): number {
    return PROBLEMS_MAX - this.list.length;
  }

  /** @param rest the rest of the sentence that begins with the node's name */
  add(kind: GraphProblemKind, node: string, rest: string): void {
    if (!this.isFull) this.list.push({ kind, node: cut(node), text: `node ${quoted(node)} ${rest}` });
  }

  addCycle(cycle: readonly string[]): void {
    const [first = ""] = cycle;
    if (this.isFull) return;
    const text = `node ${quoted(first)} depends on itself: ${joined(cycle)}`;
    this.list.push({ kind: "CYCLE", node: first, text, cycle });
  }
}

/** A name in a text. Definitions may contain any text as a name, so quotes say where it ends. */
export function quoted(name: string): string {
  return JSON.stringify(cut(name));
}

function cut(name: string): string {
  return name.length <= SHOWN_CHARS_MAX ? name : `${name.slice(0, SHOWN_CHARS_MAX)}…`;
}

function joined(cycle: readonly string[]): string {
  const length = cycle.length - 1;
  if (length <= CYCLE_NAMES_MAX) return cycle.join(" → ");
  return `${cycle.slice(0, CYCLE_NAMES_MAX).join(" → ")} → … → ${cycle[0]} (${length} nodes)`;
}
