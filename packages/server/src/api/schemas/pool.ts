import { type Static, Type } from "typebox";
import { PLACEMENT_STRATEGIES } from "../../domain/pool.ts";
import { ORDER_STRATEGIES } from "../../domain/rank.ts";
import { Count, oneOf } from "./fields.ts";

const settings = {
  paused: Type.Boolean({ description: "nothing of a paused pool is started; what runs goes on" }),
  strategy: oneOf(ORDER_STRATEGIES, "PRIORITY (default): a level of priority is a head start; FIFO: by due time alone"),
  priorityStepSec: Type.Number({
    minimum: 1,
    maximum: 30 * 86_400,
    description: "with PRIORITY: how much of a head start one level is; default 3600",
  }),
  placement: oneOf(PLACEMENT_STRATEGIES, "LEAST_LOADED (default): who has the most free; ROUND_ROBIN: in turn"),
};

export const PoolSettings = Type.Partial(Type.Object(settings), { additionalProperties: false });
export type PoolSettings = Static<typeof PoolSettings>;

export const PoolBody = Type.Object({
  name: Type.String(),
  ...settings,
  workers: Count("workers that serve it, those without a connection now included"),
  slots: Count("of those workers"),
  running: Count("attempts that they run now"),
});
export type PoolBody = Static<typeof PoolBody>;
