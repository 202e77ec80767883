import assert from "node:assert/strict";
import type { Candidate, RankCursor } from "../../domain/execution.ts";
import { isFinal } from "../../domain/execution.ts";
import { laneHash } from "../../domain/lane.ts";
import type { Batch } from "../batch.ts";
import { changesOf } from "./story.ts";

interface Row {
  row: Candidate;
  state: string;
  attempt: number;
  /** Highest attempt that a journal row or the row itself contains. */
  token: number;
}

/** A store as a map, for tests that check a machine. It accepts exactly what a store would accept. */
export class ModelStore {
  readonly rows = new Map<string, Row>();

  insert(row: Candidate): void {
    this.rows.set(row.id, { row, state: "PENDING", attempt: row.attempt, token: row.attempt });
  }

  /** Applies a batch. @returns hinted ids whose rows are not as expected */
  apply(batch: Batch): string[] {
    const missed: string[] = [];
    for (const draft of batch.shards.values()) {
      for (const { id, attempt } of draft.expected) {
        const row = this.rows.get(id);
        if (row?.state !== "PENDING" || row.attempt !== attempt) missed.push(id);
      }
    }
    for (const change of changesOf(batch)) {
      const row = this.rows.get(change.id);
      if (row?.state !== change.wasState || row.attempt !== change.wasAttempt) {
        assert.ok(batch.unverified.has(change.id), `a miss of ${change.id}, which the machine was sure of`);
        missed.push(change.id);
        continue;
      }
      Object.assign(row, { state: change.state, attempt: change.attempt });
      Object.assign(row.row, {
        queue: change.queue,
        rank: change.rank,
        dueAt: change.dueAt,
        failures: change.failures,
        lost: change.lost,
        ...(change.steps && { steps: change.steps }),
        ...(change.replacement && { ...change.replacement.definition, jobVersion: change.replacement.jobVersion }),
      });
      assert.ok(change.failures <= row.row.policy.retry.maxAttempts && change.lost <= row.row.policy.maxLost);
    }
    for (const draft of batch.shards.values()) {
      for (const { id, attempt } of draft.assigned) {
        const row = this.rows.get(id) as Row;
        if (missed.includes(id)) continue;
        assert.ok(attempt > row.token, `attempt ${attempt} of ${id} was used before`);
        row.token = attempt;
      }
    }
    return missed;
  }

  /** READY executions of a lane, behind `after`, by rank and id. */
  ready(hash: number, after: RankCursor | null, limit: number): Candidate[] {
    const isBehind = ({ rank, id }: Candidate) =>
      after === null || rank > after.rank || (rank === after.rank && id > after.id);
    return [...this.rows.values()]
      .filter(({ row, state }) => state === "PENDING" && row.queue === "READY")
      .map(({ row, attempt }) => ({ ...row, state: "PENDING" as const, attempt }))
      .filter((row) => laneHash(row) === hash && isBehind(row))
      .sort((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  open(): string[] {
    return [...this.rows].filter(([, row]) => !isFinal(row.state as never)).map(([id]) => id);
  }
}
