import { attemptsDoNotOverlap } from "./attempts-do-not-overlap.ts";
import { budgetsHold } from "./budgets-hold.ts";
import { cancellationIsHonest } from "./cancellation-is-honest.ts";
import type { ChangingRules } from "./changing-rules.ts";
import type { Checker } from "./checker.ts";
import { commandsAreObeyed } from "./commands-are-obeyed.ts";
import { countersEqualARecount, type Shown } from "./counters-equal-a-recount.ts";
import { deadlinesHold } from "./deadlines-hold.ts";
import { definitionsAreWhole } from "./definitions-are-whole.ts";
import { deletedJobsEnd } from "./deleted-jobs-end.ts";
import { drainedNodesAreEmptied } from "./drained-nodes-are-emptied.ts";
import { epochsGrow } from "./epochs-grow.ts";
import { finalStatesAbsorb } from "./final-states-absorb.ts";
import { givenUpDoesNotBegin } from "./given-up-does-not-begin.ts";
import { givenUpIsNotSent } from "./given-up-is-not-sent.ts";
import { type AskGateway, heldIsBelieved } from "./held-is-believed.ts";
import { instantsAreAccountedFor } from "./instants-are-accounted-for.ts";
import type { Ledger } from "./ledger.ts";
import { limitsHold } from "./limits-hold.ts";
import { livingOwnersAreNotRobbed } from "./living-owners-are-not-robbed.ts";
import { livingWorkersAreKept } from "./living-workers-are-kept.ts";
import { namesArePutOnce } from "./names-are-put-once.ts";
import { nothingFails } from "./nothing-fails.ts";
import { nothingIsLost } from "./nothing-is-lost.ts";
import { occurrencesDoNotOverlap } from "./occurrences-do-not-overlap.ts";
import { oldEpochsAreNotDelivered } from "./old-epochs-are-not-delivered.ts";
import { ownersReachEachOther, type Topology } from "./owners-reach-each-other.ts";
import { pausesHold } from "./pauses-hold.ts";
import { PlanBooks } from "./plan-books.ts";
import { plansMoveOn } from "./plans-move-on.ts";
import { PoolLimitsHold } from "./pool-limits-hold.ts";
import { poolPausesHold } from "./pool-pauses-hold.ts";
import { promisesAreDurable } from "./promises-are-durable.ts";
import { Quiet } from "./quiet.ts";
import { replayedOnce } from "./replayed-once.ts";
import { resultsAreCurrent } from "./results-are-current.ts";
import { resultsArrive } from "./results-arrive.ts";
import { retriesWait } from "./retries-wait.ts";
import { Roll } from "./roll.ts";
import { slotsAreLentOnce } from "./slots-are-lent-once.ts";
import { startsInTime } from "./starts-in-time.ts";
import { stopsAreOrdered } from "./stops-are-ordered.ts";
import { tokensGrow } from "./tokens-grow.ts";
import { uniqueKeysHold } from "./unique-keys-hold.ts";
import { untilItGoesBack } from "./until-it-goes-back.ts";
import { workersAreNotOverfilled } from "./workers-are-not-overfilled.ts";

/** Checkers that judge on where the store has gone back to an earlier state: they know what is true then. */
const GO_ON = new Set([
  "the roll",
  "the quiet",
  "the books of plans",
  "attempts do not overlap",
  "counters equal a recount",
  "epochs grow",
  "final states absorb",
  "nothing fails",
  "nothing is lost",
  "old epochs are not delivered",
  "slots are lent once",
  "starts in time",
  "tokens grow",
  "workers are not overfilled",
]);

/** Views of the world for checkers, beside the history. */
export interface Views {
  /** Figures that living servers show of themselves. */
  servers: () => readonly Shown[];
  /** All nodes that have a lease, the owners of shards, and which nodes can reach each other. */
  topology: Topology;
  askGateway: AskGateway;
  /** null: there is one version of the time zone data. */
  rules: ChangingRules | null;
}

/**
 * New ones of each kind.
 * @param ledger hears of everything before they do
 */
export function allCheckers(ledger: Ledger, { servers, topology, askGateway, rules }: Views): Checker[] {
  const { nodes } = topology;
  const [roll, quiet, books, poolLimits] = [new Roll(), new Quiet(), new PlanBooks(), new PoolLimitsHold()];
  const all: Checker[] = [
    // They keep the books of the others, so they hear of everything first.
    roll,
    quiet,
    books,
    poolLimits,
    attemptsDoNotOverlap(ledger),
    budgetsHold(),
    cancellationIsHonest(ledger, quiet),
    commandsAreObeyed(ledger, quiet),
    countersEqualARecount(ledger, roll, servers),
    deadlinesHold(ledger, quiet),
    definitionsAreWhole(),
    deletedJobsEnd(),
    drainedNodesAreEmptied(nodes),
    epochsGrow(),
    finalStatesAbsorb(),
    instantsAreAccountedFor(books, rules),
    givenUpDoesNotBegin(),
    givenUpIsNotSent(),
    heldIsBelieved(roll, quiet, askGateway),
    limitsHold(),
    livingOwnersAreNotRobbed(nodes),
    livingWorkersAreKept(ledger, roll),
    namesArePutOnce(),
    nothingFails(),
    nothingIsLost(),
    occurrencesDoNotOverlap(ledger, books),
    oldEpochsAreNotDelivered(ledger),
    ownersReachEachOther(topology),
    pausesHold(),
    poolPausesHold(),
    plansMoveOn(ledger, books, quiet),
    promisesAreDurable(ledger),
    replayedOnce(),
    resultsAreCurrent(),
    resultsArrive(roll),
    retriesWait(ledger),
    slotsAreLentOnce(roll),
    startsInTime(ledger, roll, quiet, poolLimits),
    stopsAreOrdered(ledger),
    tokensGrow(),
    uniqueKeysHold(ledger),
    workersAreNotOverfilled(roll),
  ];
  return all.map((checker) => (GO_ON.has(checker.name) ? checker : untilItGoesBack(checker)));
}
