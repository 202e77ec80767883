import type { ExecutionId } from "../../../domain/ids.ts";
import { type LogPart, PARTS_KEPT_MAX } from "../../../ports/store-logs.ts";

/** Log lines of attempts. See StoreLogs. */
export class LogTable {
  readonly #parts: Map<ExecutionId, LogPart[]>;

  constructor(parts: Iterable<readonly [ExecutionId, readonly LogPart[]]> = []) {
    this.#parts = new Map(Array.from(parts, ([id, list]) => [id, [...list]]));
  }

  copy(): LogTable {
    return new LogTable(this.#parts);
  }

  keep(parts: readonly LogPart[]): void {
    for (const part of parts) this.#keep(part);
  }

  read(executionId: ExecutionId, attempt: number): LogPart[] {
    const parts = (this.#parts.get(executionId) ?? []).filter((part) => part.attempt === attempt);
    return parts.sort((a, b) => a.part - b.part);
  }

  /** Deletes the lines of an execution. */
  forget(executionId: ExecutionId): void {
    this.#parts.delete(executionId);
  }

  #keep(part: LogPart): void {
    const { executionId, attempt } = part;
    const all = this.#parts.get(executionId) ?? [];
    const known = all.find((other) => other.attempt === attempt && other.part === part.part);
    if (known !== undefined && known.received >= part.received) return;
    this.#parts.set(executionId, [...all.filter((other) => other !== known), part]);
    const oldest = this.read(executionId, attempt).slice(0, -PARTS_KEPT_MAX);
    if (oldest.length === 0) return;
    const kept = (this.#parts.get(executionId) ?? []).filter((other) => !oldest.includes(other));
    this.#parts.set(executionId, kept);
  }
}
