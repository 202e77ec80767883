import { mainspringEmbedded, mainspringEmbeddedDefault } from "../contenders/mainspring/mainspring.ts";
import { cycleCase } from "./cycle.ts";
import { drainCase } from "./drain.ts";
import { pickupCase } from "./pickup.ts";
import type { Scenario } from "./scenario.ts";

export const embedded: Scenario = {
  name: "embedded",
  about: "Drain, cycle and pickup run on the PostgreSQL that comes with Mainspring, set up for a small machine.",
  cases: ({ isQuick }) =>
    [drainCase(isQuick ? 20_000 : 200_000), cycleCase(isQuick ? 1_500 : 10_000), pickupCase(200, isQuick ? 2 : 20)].map(
      (item) => ({
        ...item,
        name: `embedded-${item.name}`,
        title: `embedded store: ${item.title}`,
        contenders: [mainspringEmbedded, mainspringEmbeddedDefault],
      }),
    ),
};
