import { readFile } from "node:fs/promises";
import type { Node } from "../faults/world.ts";
import type { Outcome } from "../play.ts";

/**
 * Largest number of lines that a node may log in an outage of PostgreSQL, from its beginning until every node has its
 * share again.
 */
const LINES_MAX = 100;
/** Count of the histogram of answers, for one kind of request. */
const ANSWERED = /^mainspring_http_request_duration_seconds_count\{.*\} (\d+)$/gm;

/** Totals of a node at one moment. */
export interface Mark {
  /** Number of lines in the node's log. */
  lines: number;
  /** Number of HTTP requests that the node has answered. */
  answers: number;
}

export function marksOf(nodes: readonly Node[]): Promise<Mark[]> {
  return Promise.all(
    nodes.map(async ({ server }) => {
      const metrics = await (await fetch(`${server.httpUrl}/metrics`)).text();
      const lines = (await readFile(server.logFile, "utf8")).split("\n").length - 1;
      return { lines, answers: Array.from(metrics.matchAll(ANSWERED), ([, count]) => Number(count)).reduce(sum, 0) };
    }),
  );
}

export function since(before: readonly Mark[], after: readonly Mark[]): Mark[] {
  return after.map(({ lines, answers }, index) => ({
    lines: lines - (before[index]?.lines ?? 0),
    answers: answers - (before[index]?.answers ?? 0),
  }));
}

/** Judges the lines that each node logged in each outage. @param marks one for each node and outage */
export function judgeLogs(marks: readonly Mark[]): Outcome {
  if (marks.length === 0) return { violations: [], figures: {} };
  const most = Math.max(...marks.map(({ lines }) => lines));
  const what = `a node wrote ${most} lines in an outage, and ${LINES_MAX} are the most`;
  const violations = most > LINES_MAX ? [{ rule: "an outage writes a bounded number of log lines", what }] : [];
  const outageAnswers = marks.map(({ answers }) => answers).reduce(sum, 0);
  return { violations, figures: { outageLogLinesMax: most, outageAnswers } };
}

function sum(total: number, count: number): number {
  return total + count;
}
