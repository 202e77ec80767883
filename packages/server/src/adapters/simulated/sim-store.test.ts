import { storeConformance } from "../../ports/conformance/store.conformance.ts";
import { StoreStage } from "./store.fixture.ts";

storeConformance("the simulated store", async () => {
  const stage = new StoreStage();
  const store = stage.connect("node");
  return { store, runtime: stage.time, close: () => store.close() };
});
