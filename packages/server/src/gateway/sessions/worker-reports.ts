import { type Finished, Outcome, type Started, type Step } from "@mainspring/proto";
import type { Token } from "../../ports/messages.ts";
import { finishedOf, instantOf, tokenOf } from "../translate.ts";
import type { GatewayContext, Session } from "./session.ts";
import { judgedSuspension, passStep } from "./steps.ts";

/** Reports of a worker about its attempts, which the gateway passes to the owners of their shards. */

export function hearStarted(session: Session, report: Started, context: GatewayContext): void {
  const token = heldToken(session, report);
  if (token === null) return;
  const held = session.held.get(token.executionId, token.attempt);
  const startedAt = instantOf(report.startedAtMs) ?? context.runtime.now();
  if (held !== null) {
    session.held.start(held);
    held.startedAt ??= startedAt;
  }
  context.counters.started++;
  const { shard, executionId, attempt } = token;
  const { workerId } = session.profile;
  context.reports.started(context.owners.of(shard), { shard, executionId, attempt, workerId, startedAt });
}

export function hearStep(session: Session, report: Step, context: GatewayContext): void {
  const token = heldToken(session, report);
  if (token !== null) passStep(session, token, report, context);
}

export function hearFinished(session: Session, report: Finished, context: GatewayContext): void {
  const token = heldToken(session, report);
  if (token === null) return;
  context.counters.finished++;
  const { owners, runtime } = context;
  const reported = finishedOf(report, token, session.profile, runtime.now(), context.pools);
  const finished = judgedSuspension(session, reported, context);
  const held = session.held.get(token.executionId, token.attempt);
  // The worker does not have the attempt any more, and may not repeat the report.
  if (report.outcome === Outcome.RELEASED) {
    session.held.delete(token);
    return session.reportEnd(finished);
  }
  if (held !== null) {
    // A repeated result was logged when it first arrived.
    if (held.state !== "FINISHED") {
      context.failures.add(finished, held);
      session.ahead?.ended(finished.finishedAt - (finished.startedAt ?? finished.finishedAt), runtime.monotonicMs());
    }
    session.finish(held, report.stillRunning);
  }
  context.reports.finished(owners.of(token.shard), finished);
}

/** The token as this gateway knows it. The worker's shard counts only for unknown attempts. */
function heldToken(session: Session, report: Started | Step | Finished): Token | null {
  if (report.token === undefined) return null;
  const known = session.held.get(report.token.executionId, report.token.attempt);
  if (known !== null) return known.token;
  const token = tokenOf(report.token);
  // No owner can have assigned this token, so none would ever acknowledge it.
  if (token === null) session.outgoing.refused.push(report.token);
  return token;
}
