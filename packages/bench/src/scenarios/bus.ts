import { mainspringKafka, mainspringMesh } from "../contenders/mainspring/mainspring.ts";
import { pickupCase } from "./pickup.ts";
import type { Scenario } from "./scenario.ts";

export const bus: Scenario = {
  name: "bus",
  about:
    "Pickup with a node that owns all shards and another one that has all workers, so that every assignment and every result crosses from one to the other: over the mesh, or over Kafka. The CPU of the broker is not counted.",
  isOnRequest: true,
  cases: ({ isQuick }) => {
    const item = pickupCase(200, isQuick ? 5 : 20);
    const contenders = [mainspringMesh, mainspringKafka];
    return [{ ...item, name: `bus-${item.name}`, title: `bus: ${item.title}`, contenders }];
  },
};
