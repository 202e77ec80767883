import type { Settings } from "./servers.ts";

/** Clusters on which the tests run. */
export interface Clusters {
  /** Number of nodes of each. */
  nodes: number;
  /** Settings of each node. */
  settings: Settings;
}

/** A test of the embedded profile that does not hold on a cluster with all servers. */
export interface Difference {
  /** Name of the file without `.test.ts`. */
  file: string;
  /** Name of the test; null: all tests of the file, also where it is the only one, or its servers would start and never be stopped. */
  test: string | null;
  /** Whether it does not hold on these clusters. */
  isOf(clusters: Clusters): boolean;
  why: string;
  /** Test that shows what holds instead: path of its file in the repository, a colon, and its name. */
  instead: string;
}

/** Whether the nodes answer 202 to each submit, before the job is in the store. */
const isAcceptedFirst = ({ settings }: Clusters) => settings["MAINSPRING_INGEST"] === "kafka";
const ABOUT_INGEST = "packages/server/src/ingest.test.ts";

/** A test whose program looks for a job right after the SDK's submit. */
const readsAtOnce = (file: string, test: Difference["test"]): Difference => ({
  ...{ file, test, isOf: isAcceptedFirst },
  why: "it reads a job right after a submit of the SDK, which answers before the job is taken in",
  instead: `${ABOUT_INGEST}: reads right after the submit`,
});

/** All differences. */
export const DIFFERENCES: readonly Difference[] = [
  {
    file: "operate",
    test: "does not empty a server that is alone",
    isOf: ({ nodes }) => nodes > 1,
    why: "one node of several is not alone, and can be emptied",
    instead:
      "packages/cli/test/cluster-operate.test.ts: empties a node under load, whose api goes on, and fills it again",
  },
  {
    file: "concurrent-submits",
    test: null,
    isOf: isAcceptedFirst,
    why: "the answer to a repeat has other ids than the first one, and a key of another job is refused later",
    instead: `${ABOUT_INGEST}: a repeat with the same Idempotency-Key`,
  },
  {
    file: "recurring",
    test: "submits one, and shows what became of each planned instant",
    isOf: isAcceptedFirst,
    why: "the answer to the submit of a recurring job has no first planned time",
    instead: `${ABOUT_INGEST}: the answer to a submit`,
  },
  readsAtOnce(
    "logs",
    "is shown of a running attempt, and of every attempt when it is over, also after a restart of the server",
  ),
  readsAtOnce("logs", "is followed from before the first attempt, until the execution is final"),
  readsAtOnce("logs", "is followed, although the only attempt begins and ends before the stream of events is open"),
  readsAtOnce("operate", "shows all that a job was submitted with, by the SDK's own type"),
  readsAtOnce("stuck-handler", null),
];
