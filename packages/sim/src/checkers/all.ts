import type { Delivery } from "@mainspring/server/testing";
import { METERED, METERED_MAX, RATED, RATED_PER_SEC } from "../world/metered.ts";
import { type AuditView, auditIsComplete } from "./audit-is-complete.ts";
import type { Checker } from "./checker.ts";
import { drainedNodesAreEmptied } from "./cluster/drained-nodes-are-emptied.ts";
import { epochsGrow } from "./cluster/epochs-grow.ts";
import { type AskGateway, heldIsBelieved } from "./cluster/held-is-believed.ts";
import { journalsStayShort } from "./cluster/journals-stay-short.ts";
import { livingOwnersAreNotRobbed } from "./cluster/living-owners-are-not-robbed.ts";
import { livingWorkersAreKept } from "./cluster/living-workers-are-kept.ts";
import { oldEpochsAreNotDelivered } from "./cluster/old-epochs-are-not-delivered.ts";
import { oneLeaderOwnsAll } from "./cluster/one-leader-owns-all.ts";
import { ownersReachEachOther, type Topology } from "./cluster/owners-reach-each-other.ts";
import { PoolLimitsHold } from "./cluster/pool-limits-hold.ts";
import { poolPausesHold } from "./cluster/pool-pauses-hold.ts";
import { prefetchIsShort } from "./cluster/prefetch-is-short.ts";
import { slotsAreLentOnce } from "./cluster/slots-are-lent-once.ts";
import { TenantLimitsHold } from "./cluster/tenant-limits-hold.ts";
import { WorkerTracker } from "./cluster/worker-tracker.ts";
import { workersAreNotOverfilled } from "./cluster/workers-are-not-overfilled.ts";
import { countersEqualARecount, type Shown } from "./counters-equal-a-recount.ts";
import { endsAreDelivered } from "./ends-are-delivered.ts";
import { eventsTellWhatHappened } from "./events-tell-what-happened.ts";
import { acceptedJobsStay } from "./executions/accepted-jobs-stay.ts";
import { attemptsDoNotOverlap } from "./executions/attempts-do-not-overlap.ts";
import { attemptsStartOnce } from "./executions/attempts-start-once.ts";
import { budgetsHold } from "./executions/budgets-hold.ts";
import { cancellationIsHonest } from "./executions/cancellation-is-honest.ts";
import { deadlinesHold } from "./executions/deadlines-hold.ts";
import { tenantCheckers } from "./executions/fair-shares.ts";
import { finalStatesAbsorb } from "./executions/final-states-absorb.ts";
import { givenUpDoesNotBegin } from "./executions/given-up-does-not-begin.ts";
import { givenUpIsNotSent } from "./executions/given-up-is-not-sent.ts";
import { headroomIsFree } from "./executions/headroom-is-free.ts";
import { limitsHold } from "./executions/limits-hold.ts";
import { nothingIsLost } from "./executions/nothing-is-lost.ts";
import { nothingOutlivesItsLifetime } from "./executions/nothing-outlives-its-lifetime.ts";
import { promisesAreDurable } from "./executions/promises-are-durable.ts";
import { quotasHold, ratesHold } from "./executions/quotas-hold.ts";
import { replayedOnce } from "./executions/replayed-once.ts";
import { resultsAreCurrent } from "./executions/results-are-current.ts";
import { resultsArrive } from "./executions/results-arrive.ts";
import { retriesWait } from "./executions/retries-wait.ts";
import { signalsAreConsumedOnce } from "./executions/signals-are-consumed-once.ts";
import { sleepersHoldNoSlot } from "./executions/sleepers-hold-no-slot.ts";
import { startsInTime } from "./executions/starts-in-time.ts";
import { stepsAreCurrent } from "./executions/steps-are-current.ts";
import { stepsRunOnceDurable } from "./executions/steps-run-once-durable.ts";
import { stopsAreOrdered } from "./executions/stops-are-ordered.ts";
import { tokensGrow } from "./executions/tokens-grow.ts";
import { uniqueKeysHold } from "./executions/unique-keys-hold.ts";
import { keptCancelsAreWritten } from "./kept-cancels-are-written.ts";
import { nothingFails } from "./nothing-fails.ts";
import { Quiet } from "./quiet.ts";
import { RecordsAreTakenInOnce } from "./records-are-taken-in-once.ts";
import type { ChangingRules } from "./recurring/changing-rules.ts";
import { commandsAreObeyed } from "./recurring/commands-are-obeyed.ts";
import { definitionsAreWhole } from "./recurring/definitions-are-whole.ts";
import { deletedJobsEnd } from "./recurring/deleted-jobs-end.ts";
import { instantsAreAccountedFor } from "./recurring/instants-are-accounted-for.ts";
import type { Ledger } from "./recurring/ledger.ts";
import { namesArePutOnce } from "./recurring/names-are-put-once.ts";
import { occurrencesDoNotOverlap } from "./recurring/occurrences-do-not-overlap.ts";
import { pausesHold } from "./recurring/pauses-hold.ts";
import { PlanBooks } from "./recurring/plan-books.ts";
import { plansMoveOn } from "./recurring/plans-move-on.ts";
import { requestsAreTakenInOnce } from "./requests-are-taken-in-once.ts";
import { type KeysView, revokedIsDead } from "./revoked-is-dead.ts";
import { sinksGetEveryEvent } from "./sinks-get-every-event.ts";
import { untilItGoesBack } from "./until-it-goes-back.ts";
import { compensationIsReverse } from "./workflows/compensation-is-reverse.ts";
import { type Graph, graphsComeOutRight } from "./workflows/graphs-come-out-right.ts";
import { pausedRunsStartNothing } from "./workflows/paused-runs-start-nothing.ts";
import { referencesAreTrue } from "./workflows/references-are-true.ts";

/** Checkers that continue after the store was restored to an earlier state, because they know what is true then. */
const GO_ON = new Set([
  "the roll",
  "the quiet",
  "the books of plans",
  "accepted jobs stay",
  "attempts do not overlap",
  "attempts start once",
  "counters equal a recount",
  "epochs grow",
  "final states absorb",
  "graphs come out right",
  "nothing fails",
  "nothing is lost",
  "old epochs are not delivered",
  "paused runs start nothing",
  "slots are lent once",
  "starts in time",
  "tokens grow",
  "workers are not overfilled",
]);

/** Data for checkers besides the history. */
export interface Views {
  /** Metrics that living servers show. */
  servers: () => readonly Shown[];
  /** All nodes with a lease, the owners of shards, and which nodes can reach each other. */
  topology: Topology;
  askGateway: AskGateway;
  /** Versions of the time zone data; null: there is only one. */
  rules: ChangingRules | null;
  /** Submitted workflows, by the id of their job. */
  graphs: () => ReadonlyMap<string, Graph>;
  /** Whether the nodes write lifecycle events; left out: they do not. */
  isTelling?: boolean;
  /** Whether the events go to a sink; left out: they do not. */
  hasSink?: boolean;
  /** Whether the nodes want one leader; left out: they divide the shards. */
  wantsLeader?: boolean;
  /** Whether jobs have webhooks; left out: they do not. */
  hasWebhooks?: boolean;
  /** Audit log that the nodes seal; left out: they do not. */
  audit?: AuditView;
  /** API keys that are revoked and rotated; left out: the nodes have none. */
  keys?: KeysView;
  /** All deliveries of webhooks; left out: there are none. */
  deliveries?: () => Iterable<Delivery>;
  /** Whether replicas confirm each write before its answer; left out: they do not. */
  isConfirmed?: boolean;
  /** Weights of tenants that do not have the default one; left out: all have it. */
  weights?: () => ReadonlyMap<string, number>;
  /** Whether the pool keeps slots free for tenants with few attempts; left out: it does not. */
  hasHeadroom?: boolean;
  /** Limits of tenants; left out: none has a limit. */
  tenantLimits?: () => ReadonlyMap<string, number>;
}

/**
 * Creates one checker of each kind.
 * @param ledger ledger that receives every event before the checkers
 */
export function allCheckers(ledger: Ledger, views: Views): Checker[] {
  const { servers, topology, askGateway, rules, graphs, isTelling = false, hasSink = false } = views;
  const [{ nodes }, hasHeadroom] = [topology, views.hasHeadroom ?? false];
  const [tracker, quiet, books] = [new WorkerTracker(), new Quiet(), new PlanBooks()];
  const [poolLimits, tenantLimits] = [new PoolLimitsHold(), new TenantLimitsHold(views.tenantLimits ?? null)];
  const all: Checker[] = [
    // These keep records for the other checkers, so they receive every event first.
    tracker,
    quiet,
    books,
    ...[poolLimits, tenantLimits],
    ...[acceptedJobsStay(views.isConfirmed ?? false), attemptsDoNotOverlap(ledger), attemptsStartOnce()],
    auditIsComplete(quiet, views.audit ?? null),
    budgetsHold(),
    cancellationIsHonest(ledger, quiet),
    commandsAreObeyed(ledger, quiet),
    compensationIsReverse(graphs),
    countersEqualARecount(ledger, tracker, servers),
    deadlinesHold(ledger, quiet),
    definitionsAreWhole(),
    deletedJobsEnd(),
    drainedNodesAreEmptied(nodes),
    epochsGrow(),
    eventsTellWhatHappened(isTelling),
    finalStatesAbsorb(),
    instantsAreAccountedFor(books, rules),
    ...[givenUpDoesNotBegin(), givenUpIsNotSent()],
    graphsComeOutRight(graphs, quiet),
    headroomIsFree(hasHeadroom, tracker, quiet),
    heldIsBelieved(tracker, quiet, askGateway),
    journalsStayShort(quiet),
    keptCancelsAreWritten(ledger, quiet),
    limitsHold(),
    livingOwnersAreNotRobbed(nodes),
    livingWorkersAreKept(ledger, tracker),
    namesArePutOnce(),
    nothingFails(),
    nothingIsLost(),
    nothingOutlivesItsLifetime(ledger, quiet),
    oneLeaderOwnsAll(views.wantsLeader ?? false, nodes),
    occurrencesDoNotOverlap(ledger, books),
    oldEpochsAreNotDelivered(ledger),
    ownersReachEachOther(topology),
    pausedRunsStartNothing(ledger, quiet),
    pausesHold(),
    prefetchIsShort(tracker, quiet),
    poolPausesHold(),
    referencesAreTrue(ledger, graphs),
    plansMoveOn(ledger, books, quiet),
    promisesAreDurable(ledger),
    ...[quotasHold(new Map([[METERED, METERED_MAX]])), ratesHold(new Map([[RATED, RATED_PER_SEC]])), replayedOnce()],
    resultsAreCurrent(),
    resultsArrive(tracker),
    retriesWait(ledger),
    signalsAreConsumedOnce(ledger, quiet),
    sleepersHoldNoSlot(),
    slotsAreLentOnce(tracker),
    startsInTime(ledger, tracker, quiet, { pools: poolLimits, tenants: tenantLimits, hasHeadroom }),
    ...[revokedIsDead(views.keys ?? null), stepsAreCurrent(ledger)],
    stepsRunOnceDurable(),
    stopsAreOrdered(ledger),
    ...tenantCheckers(ledger, quiet, views.weights, views.tenantLimits !== undefined),
    ...[tokensGrow(), uniqueKeysHold(ledger)],
    workersAreNotOverfilled(tracker),
    ...[new RecordsAreTakenInOnce(), requestsAreTakenInOnce()],
    sinksGetEveryEvent(hasSink),
    endsAreDelivered(views.hasWebhooks ?? false, views.deliveries ?? (() => [])),
  ];
  return all.map((checker) => (GO_ON.has(checker.name) ? checker : untilItGoesBack(checker)));
}
