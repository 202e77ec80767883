import type { Incarnation } from "../../domain/ids.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { StoreRequests } from "../../ports/store-requests.ts";
import type { Call, NotedCalls } from "./noted-calls.ts";
import { takeIn } from "./rows/request-table.ts";
import type { StoreData } from "./store-data.ts";

/** See StoreRequests. @param call sends a call of the node to the store */
export function requests(data: StoreData, node: Incarnation, call: Call, noted: NotedCalls): StoreRequests {
  return {
    takeIn: async (limits, judge) => {
      const [held, asked] = [Symbol("transaction"), { ...limits }];
      const claimed = await call("claimRequests", () => data.requests.claim(held, asked, data.now()));
      if (claimed.length === 0) return [];
      const decisions = await judge.decide(claimed);
      const notes = judge.notesOf?.(decisions.filter((decision) => "jobs" in decision)) ?? [];
      const taken = await noted.makeAll(
        "takeIn",
        notes,
        () => takeIn(data, node, held, claimed, decisions, judge),
        (answer) => answer !== null,
      );
      if (taken === null) throw new StoreUnavailable("The simulated store ended a transaction that did nothing");
      return taken;
    },
    watch: (tell) => {
      data.observe(({ kind }) => {
        if (kind !== "REQUEST_ADDED") return;
        // A notice that the store would not deliver, or would deliver too late, is lost.
        void call("watch", () => undefined).then(tell, () => undefined);
      });
    },
    get: (...asked) => call("get", () => data.requests.get(...asked)),
    list: (...asked) => call("list", () => data.requests.list(...asked)),
  };
}
