import { join } from "node:path";

/** A checkout of Mainspring with its dependencies. */
export interface SourceTree {
  /** Absolute path of its folder. */
  readonly folder: string;
  /** Name of its commit for people; null: the tree of this benchmark. */
  readonly label: string | null;
}

export const THIS_TREE: SourceTree = { folder: join(import.meta.dirname, "..", "..", "..", "..", ".."), label: null };

/** The program `mainspring` of a tree. */
export function commandOf({ folder }: SourceTree): string {
  return join(folder, "packages", "cli", "bin", "mainspring.mjs");
}

/** A worker program of this benchmark in a tree, where it uses that tree's packages. */
export function workerFileOf({ folder }: SourceTree, name: "remote-worker" | "inside-process"): string {
  return join(folder, "packages", "bench", "src", "contenders", "mainspring", `${name}.ts`);
}
