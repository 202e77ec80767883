import { type CaseResult, type Measured, type Outcome, outcomeOf } from "./measured.ts";

/** Error: sessions that do not belong into one report. */
class NotComparable extends Error {
  override readonly name = "NotComparable";
}

/**
 * Merges the results of several sessions, because a long report may be measured in parts. Runs of one contender in one
 * case count together if they have the same commit; otherwise only the newest commit's runs count.
 * @throws {NotComparable} the sessions are of different machines or programs, or one of them is a quick one
 */
export function merged(sessions: readonly Measured[]): Measured {
  const [first, ...others] = sessions;
  if (first === undefined) throw new NotComparable("there is nothing to put together");
  for (const other of others) refuseStranger(first, other);
  const results = new Map<string, CaseResult>();
  for (const result of sessions.flatMap((session) => session.results)) {
    const known = results.get(result.name);
    const outcomes = [...(known?.outcomes ?? []), ...result.outcomes];
    results.set(result.name, { ...result, outcomes: joined(outcomes) });
  }
  const machine = Object.assign({}, ...sessions.map((session) => session.machine)) as Measured["machine"];
  return { ...first, machine, results: [...results.values()] };
}

function refuseStranger(one: Measured, other: Measured): void {
  if (one.isQuick !== other.isQuick) throw new NotComparable("a quick session's cases are smaller than another one's");
  // A session without peers has no versions of peers.
  const differs = Object.keys(one.machine).find(
    (what) => what in other.machine && one.machine[what] !== other.machine[what],
  );
  if (differs === undefined) return;
  throw new NotComparable(
    `${differs} was ${one.machine[differs]} in one session, and ${other.machine[differs]} in another`,
  );
}

/** Joins outcomes, one for each contender. */
function joined(outcomes: readonly Outcome[]): Outcome[] {
  const byContender = Map.groupBy(outcomes, ({ contender }) => contender);
  return [...byContender].map(([contender, all]) => {
    const sorted = all.flatMap(({ occasions }) => occasions).sort((a, b) => (a.at < b.at ? -1 : 1));
    const counted = sorted.filter(({ commit }) => commit === sorted.at(-1)?.commit);
    // The same file may be given twice, alone and within another.
    const outcome = outcomeOf(contender, [...new Map(counted.map((occasion) => [occasion.at, occasion])).values()]);
    const unsupported = all.at(-1)?.unsupported;
    return unsupported === undefined ? outcome : { ...outcome, unsupported };
  });
}
