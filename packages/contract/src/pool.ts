import { type Static, Type } from "typebox";
import { ORDER_STRATEGIES, PLACEMENT_STRATEGIES } from "./enums.ts";
import { Count, InstantOrNull, named, oneOf, orNull } from "./fields.ts";

const settings = {
  paused: Type.Boolean({ description: "nothing of a paused pool is started; what runs goes on" }),
  strategy: oneOf(
    ORDER_STRATEGIES,
    "PRIORITY (default): a level of priority is a head start; FIFO: by due time alone",
    "OrderStrategy",
  ),
  priorityStepSec: Type.Number({
    minimum: 1,
    maximum: 30 * 86_400,
    description: "with PRIORITY: how much of a head start one level is; default 3600",
  }),
  placement: oneOf(
    PLACEMENT_STRATEGIES,
    "LEAST_LOADED (default): who has the most free; ROUND_ROBIN: in turn",
    "PlacementStrategy",
  ),
  maxRunning: orNull(
    Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    "1 to 1000000 attempts that may be at workers at once, over all servers, or null (default): no limit. When it is lowered, what runs finishes",
  ),
  ratePerSec: orNull(
    Type.Number({ minimum: 0.001, maximum: 1_000_000 }),
    "0.001 to 1000000 attempts that may begin in a second, over all servers, or null (default): no limit. Unused starts are saved up for a second",
  ),
  headroom: Type.Integer({
    minimum: 0,
    maximum: 50,
    description:
      "0 (default) to 50 percent of the slots that stay free for tenants with few attempts, so that their work does not wait for the end of an attempt of others. Counts where there are several tenants",
  }),
};

const owner = orNull(
  Type.String({ pattern: "^[a-z0-9-]{1,40}$" }),
  "tenant that owns the pool: only its jobs and its workers use it; null: the pool is shared",
);

export const PoolSettings = Type.Partial(Type.Object({ ...settings, owner }), {
  additionalProperties: false,
  title: "PoolSettings",
});
export type PoolSettings = Static<typeof PoolSettings>;

export const PoolBody = named("Pool", {
  name: Type.String(),
  owner,
  ...settings,
  workers: Count("workers that serve it, those without a connection now included"),
  slots: Count("of those workers"),
  running: Count("attempts that they run now"),
  limitUse: orNull(
    named("LimitUse", {
      taken: Count("of maxRunning: attempts that workers have, and the few places that a server keeps to use at once"),
      nextStartAt: InstantOrNull("when ratePerSec allows the next start; null: there is no such limit"),
    }),
    "what is used of its limits; null: it has none, or they do not hold yet, or the server that counts it did not answer",
  ),
});
export type PoolBody = Static<typeof PoolBody>;

const Owner = named("UnconfirmedNode", {
  nodeId: Type.String({ description: "one life of the server" }),
  address: orNull(Type.String(), "host:port where other servers reach it; null: its lease ended long ago"),
});

export const ChangedPoolBody = named("ChangedPool", {
  ...PoolBody.properties,
  unconfirmedBy: Type.Array(Owner, {
    description: "servers that own shards and did not confirm in time that they go by the change; empty: all did",
  }),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: "what may be a mistake, as a pool that nobody knows; left out: nothing" }),
  ),
});
