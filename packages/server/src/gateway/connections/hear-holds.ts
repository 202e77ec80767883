import type { Holds, Held as WireHeld } from "@mainspring/proto";
import { attemptKey } from "../../domain/ids.ts";
import type { Held } from "../sessions/held.ts";
import type { Question, Questions } from "../sessions/questions.ts";
import { noteStart } from "../sessions/reattach.ts";
import type { GatewayContext, Session } from "../sessions/session.ts";
import { type ReportedHold, reportedHoldOf } from "../translate.ts";

/**
 * Applies a worker's answer to a question about its attempts: corrects the gateway's records, and informs the owners
 * that wait for the answer.
 */
export function hearHolds(session: Session, questions: Questions, said: Holds, context: GatewayContext): void {
  const number = Number(said.nonce);
  const question = questions.answered(number);
  if (question === null) return;
  settle(session, { number, question, named: namedIn(said.holds) }, context);
  for (const [owner, term] of question.owners) {
    if (context.owners.termOf(owner) === term) session.introduceTo(owner, true);
    // The worker answered under older epochs than the owner has by now, so it is asked again.
    else questions.want(owner);
  }
}

function namedIn(holds: readonly WireHeld[]): Map<string, ReportedHold> {
  const named = holds.map(reportedHoldOf).filter((hold) => hold !== null);
  return new Map(named.map((hold) => [attemptKey(hold.token.executionId, hold.token.attempt), hold]));
}

interface Answer {
  /** Number of the question. */
  number: number;
  question: Question;
  named: ReadonlyMap<string, ReportedHold>;
}

/**
 * Returns attempts to their owners that were sent before the question and that the worker does not name: it never got
 * them, or has completed them. The answer adds no attempts to the gateway's records, because an acknowledgement may
 * have crossed it.
 */
function settle(session: Session, { number, question, named }: Answer, context: GatewayContext): void {
  for (const held of attemptsOf(session, question)) {
    const hold = named.get(attemptKey(held.token.executionId, held.token.attempt));
    if (hold !== undefined) noteStart(session, held, hold.startedAt, context);
    else if (held.askable <= number && held.state === "ASSIGNED") {
      session.held.delete(held.token);
      session.return(held.token);
    }
  }
}

function attemptsOf({ held }: Session, { tokens }: Question): Held[] {
  if (tokens === null) return [...held];
  return tokens.map(({ executionId, attempt }) => held.get(executionId, attempt)).filter((item) => item !== null);
}
