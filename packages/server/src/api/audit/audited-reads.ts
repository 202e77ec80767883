import type { FastifyInstance, FastifyRequest } from "fastify";
import type { AuditNote, StoreAudit } from "../../ports/store-audit.ts";
import { busy } from "../http/errors.ts";
import { isActing, noteOf } from "./audit-notes.ts";

/** Operations that show payloads, results, log lines or errors of jobs. */
const PAYLOAD_READS: readonly string[] = [
  ...["getJob", "getExecution", "getExecutionSteps", "getLogs", "getAttemptLogs", "followExecution"],
  ...["getWorkflowNode", "listWorkflowItems", "readWorkflowResults", "followWorkflow", "listDeadLetters"],
];
/** Largest number of records in one transaction. */
const GROUP_MAX = 500;
const RETRY_AFTER_SEC = 1;

interface Waiting {
  note: AuditNote;
  resolve(): void;
  reject(error: unknown): void;
}

/** Records reads before they are answered. Reads that arrive while records are being written share the next transaction. */
class AuditedReads {
  readonly #audit: Pick<StoreAudit, "write">;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(audit: Pick<StoreAudit, "write">) {
    this.#audit = audit;
  }

  /** @throws {StoreUnavailable} the read may or may not be recorded */
  record(note: AuditNote): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ note, resolve, reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP_MAX);
      try {
        await this.#audit.write(group.map(({ note }) => note));
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#isWriting = false;
  }
}

/**
 * Records each read by an operator who acts for a tenant, and each read of payloads by an operator with a key of the store, and answers
 * 503 if it cannot. A key of the settings belongs to all clients together, so its reads for `default` say nothing about operators.
 */
export function auditReads(app: FastifyInstance, audit: Pick<StoreAudit, "write">): void {
  const reads = new AuditedReads(audit);
  app.addHook("preHandler", (request, _reply, done) => {
    if (!isAudited(request)) return done();
    const [target] = Object.values((request.params ?? {}) as Record<string, string>);
    const unwritten = "the audit log cannot be written now, and reads of operators are recorded in it";
    const admit = () => done();
    const refuse = () => done(busy("unavailable", unwritten, RETRY_AFTER_SEC));
    reads.record(noteOf(request, target ?? null)).then(admit, refuse);
  });
}

function isAudited(request: FastifyRequest): boolean {
  const { principal, routeOptions, method } = request;
  if (principal !== null && isActing(request)) return method === "GET";
  if (principal?.kind !== "OPERATOR" || principal.source !== "STORE") return false;
  const schema = routeOptions.schema as { operationId?: string } | undefined;
  return PAYLOAD_READS.includes(schema?.operationId ?? "");
}
