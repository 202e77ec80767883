import { readdirSync, readFileSync } from "node:fs";

/** Ticks in a second on Linux. A program cannot ask for it without a compiler, and it has been 100 for decades. */
const TICKS_PER_SEC = 100;
export const US_PER_TICK = 1_000_000 / TICKS_PER_SEC;

interface ProcessStat {
  parent: number;
  /** CPU time of the process and of its children that have ended, in ticks. */
  ownTicks: number;
  childTicks: number;
}

/** CPU time of a process with all its threads, in microseconds; 0: the process has ended, or this is not Linux. */
export function cpuUsOf(pid: number): number {
  return (statOf(pid)?.ownTicks ?? 0) * US_PER_TICK;
}

/** The same with all of its descendants, including those that have ended and were waited for. */
export function treeCpuUsOf(root: number): number {
  const members = treeOf(root);
  let ticks = 0;
  for (const stat of members.values()) ticks += stat.ownTicks + stat.childTicks;
  return ticks * US_PER_TICK;
}

/** Living children of a process. */
export function childrenOf(pid: number): number[] {
  return allProcesses()
    .filter(([, stat]) => stat.parent === pid)
    .map(([child]) => child);
}

function treeOf(root: number): Map<number, ProcessStat> {
  const all = allProcesses();
  const tree = new Map(all.filter(([pid]) => pid === root));
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const [pid, stat] of all) if (tree.has(stat.parent)) tree.set(pid, stat);
  }
  return tree;
}

function allProcesses(): [number, ProcessStat][] {
  if (process.platform !== "linux") return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((name) => {
    const stat = statOf(Number(name));
    return stat === null ? [] : [[Number(name), stat] as [number, ProcessStat]];
  });
}

function statOf(pid: number): ProcessStat | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The second field, the name, may contain anything, even spaces; the numbers after its closing bracket start with the
  // third field.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const at = (position: number) => Number(fields[position - 3]);
  return { parent: at(4), ownTicks: at(14) + at(15), childTicks: at(16) + at(17) };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
