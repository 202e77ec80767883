import type { ApiMetrics, Metrics } from "@mainspring/server/testing";

const nothing = () => undefined;

/** Counts nothing: what happens in a simulation is counted by those who watch it. */
export const noMetrics: Metrics & ApiMetrics = {
  commit: nothing,
  lateness: nothing,
  ran: nothing,
  finished: nothing,
  deadLetter: nothing,
  retried: nothing,
  refusedStale: nothing,
  submitted: nothing,
  takeover: nothing,
  storeOutage: nothing,
  watch: nothing,
  request: nothing,
  submitCommit: nothing,
  text: async () => ({ contentType: "text/plain", body: "" }),
};
