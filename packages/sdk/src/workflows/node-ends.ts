/** A dependency on a node, by its number. */
interface Edge {
  node: number;
  when: string;
}

interface Ends {
  edges: readonly Edge[];
  isAny: boolean;
  /** Whether the node has SUCCEEDED in every run that has. */
  succeeds: boolean;
}

/** Tells which nodes surely have a result, from the dependencies between nodes. Nodes only depend on nodes before them. */
export class NodeEnds {
  readonly #nodes: Ends[] = [];

  add(edges: readonly Edge[], { join, allowFailure = false }: { join?: "ALL" | "ANY"; allowFailure?: boolean }): void {
    const isAny = join === "ANY";
    const isMet = ({ node, when }: Edge) =>
      when === "FINISHED" || (when === "SUCCEEDED" && this.#nodes[node]?.succeeds === true);
    const runs = isAny && edges.length > 0 ? edges.some(isMet) : edges.every(isMet);
    this.#nodes.push({ edges, isAny, succeeds: runs && !allowFailure });
  }

  /** Whether the node has SUCCEEDED in every run that has. */
  succeeds(node: number): boolean {
    return this.#nodes[node]?.succeeds === true;
  }

  /** Whether a node with these dependencies runs only if another one has SUCCEEDED. */
  areAfterSuccess(target: number, edges: readonly Edge[], join: "ALL" | "ANY"): boolean {
    // Whether the node of this number runs only if the target has SUCCEEDED.
    const isAfter: boolean[] = [];
    const shows = ({ node, when }: Edge): boolean => {
      if (when === "FINISHED") return false;
      return isAfter[node] === true || (node === target && when !== "FAILED");
    };
    const all = (edges: readonly Edge[], isAny: boolean): boolean =>
      isAny ? edges.length > 0 && edges.every(shows) : edges.some(shows);
    for (let node = target + 1; node < this.#nodes.length; node++) {
      const { edges, isAny } = this.#nodes[node] as Ends;
      isAfter[node] = all(edges, isAny);
    }
    return all(edges, join === "ANY");
  }
}
