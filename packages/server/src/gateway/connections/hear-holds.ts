import type { Holds, Held as WireHeld } from "@mainspring/proto";
import { attemptKey } from "../../domain/ids.ts";
import type { Held } from "../sessions/held.ts";
import type { Question, Questions } from "../sessions/questions.ts";
import { noteStart } from "../sessions/reattach.ts";
import type { Session, Surroundings } from "../sessions/session.ts";
import { type ReportedHold, reportedHoldOf } from "../translate.ts";

/** A worker has answered what it holds: the gateway corrects what it believes, and tells the owners that wait for the answer. */
export function hearHolds(session: Session, questions: Questions, said: Holds, shared: Surroundings): void {
  const number = Number(said.nonce);
  const question = questions.answered(number);
  if (question === null) return;
  settle(session, { number, question, named: namedIn(said.holds) }, shared);
  for (const [owner, term] of question.owners) {
    if (shared.owners.termOf(owner) === term) session.introduceTo(owner, true);
    // Said under older epochs than those that the owner has by now.
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
 * An attempt that was sent before the question and that the worker does not name was never taken, or is done with: its owner gets
 * it back. The answer adds nothing that the gateway does not know: an acknowledgement may have crossed it.
 */
function settle(session: Session, { number, question, named }: Answer, shared: Surroundings): void {
  for (const held of attemptsOf(session, question)) {
    const hold = named.get(attemptKey(held.token.executionId, held.token.attempt));
    if (hold !== undefined) noteStart(session, held, hold.startedAt, shared);
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
