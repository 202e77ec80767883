import type { Held as WireHeld } from "@mainspring/proto";
import { attemptKey } from "../domain/ids.ts";
import type { Held } from "./held.ts";
import type { Question } from "./questions.ts";
import { noteStart } from "./reattach.ts";
import type { Session, Surroundings } from "./session.ts";
import { reportedHoldOf } from "./translate.ts";

interface Answer {
  /** Of the question. */
  number: number;
  question: Question;
  holds: readonly WireHeld[];
}

/**
 * Brings what the gateway believes in line with the worker's answer. An attempt that was sent before the question and that the
 * worker does not name was never taken, or is done with: its owner gets it back. The answer adds nothing that the gateway does
 * not know: an acknowledgement may have crossed it.
 */
export function hearHolds(session: Session, { number, question, holds }: Answer, shared: Surroundings): void {
  const named = new Map(
    holds.flatMap((held) => {
      const hold = reportedHoldOf(held);
      return hold === null ? [] : [[attemptKey(hold.token.executionId, hold.token.attempt), hold]];
    }),
  );
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
