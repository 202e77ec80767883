import { storeConformance } from "@mainspring/server/testing";
import { StoreStage } from "./store.fixture.ts";

storeConformance("the simulated store", async () => {
  const stage = new StoreStage();
  const store = stage.connect("node");
  return { store, runtime: stage.time, close: () => store.close() };
});
