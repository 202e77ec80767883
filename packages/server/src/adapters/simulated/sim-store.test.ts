import { storeConformance } from "../../ports/conformance/store.conformance.ts";
import { StoreStage } from "./store.fixture.ts";

storeConformance("the simulated store", async (isTelling = false) => {
  const stage = new StoreStage({ isTelling: () => isTelling });
  const store = stage.connect("node");
  return { store, runtime: stage.time, addRequests: stage.addRequests, close: () => store.close() };
});
