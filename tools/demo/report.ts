import type { ExecutionSummary } from "@mainspring/sdk";
import { table } from "../../packages/cli/src/text/output.ts";
import type { Account } from "./stage.ts";

/** Report of the demo's events, with a check of each that was required. */
export function reportText(accounts: ReadonlyMap<string, Account>): string {
  const rows = [...accounts].map(([story, { executions, expectations }]) => [
    story,
    String(executions.length),
    endsOf(executions),
    String(executions.reduce((sum, { attempt }) => sum + attempt, 0)),
    latenessOf(executions),
    `${expectations.filter(({ met }) => met).length} of ${expectations.length}`,
  ]);
  const details = [...accounts].flatMap(([story, { expectations }]) =>
    expectations.map(({ text, met }) => `${met ? "ok " : "NOT"}  ${story}: ${text}`),
  );
  return [table(["STORY", "RUNS", "ENDED", "ATTEMPTS", "MEDIAN LATENESS", "AS EXPECTED"], rows), "", ...details].join(
    "\n",
  );
}

/** Number of failed expectations. A story without expectations proves nothing, and counts as one. */
export function countUnmet(accounts: ReadonlyMap<string, Account>): number {
  return [...accounts.values()]
    .map(({ expectations }) => (expectations.length === 0 ? 1 : expectations.filter(({ met }) => !met).length))
    .reduce((sum, count) => sum + count, 0);
}

function endsOf(executions: readonly ExecutionSummary[]): string {
  const counts = new Map<string, number>();
  for (const { state } of executions) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

function latenessOf(executions: readonly ExecutionSummary[]): string {
  const lateness = executions.flatMap(({ latenessMs }) => latenessMs ?? []).sort((a, b) => a - b);
  return lateness.length === 0 ? "-" : `${lateness[Math.floor(lateness.length / 2)]} ms`;
}
