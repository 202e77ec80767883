import { sideIndexConformance } from "../../ports/conformance/side-index.conformance.ts";
import { IndexData } from "./sim-index.ts";

sideIndexConformance("simulated", async () => {
  let nowMs = 1_000_000;
  const data = new IndexData(() => nowMs);
  return {
    index: () => data.index(async (run) => run()),
    pass: async (ms) => {
      nowMs += ms;
    },
    flush: async () => data.flush(),
    close: async () => undefined,
  };
});
