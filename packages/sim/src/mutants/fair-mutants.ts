import type { Mutant } from "./mutant.ts";

const ENGINE = "packages/server/src/engine";
const SHARES = `${ENGINE}/fair/shares.ts`;
const FAIR_TEST = `${ENGINE}/fair/fair.test.ts`;
const HEADROOM = `${ENGINE}/fair/headroom.ts`;
const HEADROOM_TEST = `${ENGINE}/fair/headroom.test.ts`;
const OTHERS_TEST = `${ENGINE}/fair/others.test.ts`;
const OWNERS_TEST = "packages/server/src/gateway/credits/fair-owners.test.ts";

/** Mutants in the fair order between tenants. */
export const fairMutants: readonly Mutant[] = [
  {
    name: "the slot of a released attempt stays in its tenant's share",
    file: `${ENGINE}/attempts/attempts.ts`,
    find: "  state.shares.ended(assigned);",
    replace: "  if (assigned.startedAt !== null) state.shares.ended(assigned);",
    why: "a tenant whose workers release attempts gets fewer and fewer slots",
    test: {
      file: FAIR_TEST,
      name: "are free for others when an attempt has ended, and a released attempt costs its tenant nothing",
    },
  },
  {
    name: "attempts of an earlier owner do not count for their tenants",
    file: SHARES,
    find: "  adopted(share: Share): void {\n    this.#run(share, 1);",
    replace: "  adopted(share: Share): void {",
    why: "after a takeover a tenant gets as many slots again as it has already",
    test: { file: FAIR_TEST, name: "count attempts that an earlier owner has assigned" },
  },
  {
    name: "the tenant with the most attempts goes first",
    file: SHARES,
    find: "  return (running * ATTEMPT + others) / weight;",
    replace: "  return -(running * ATTEMPT + others) / weight;",
    why: "a tenant with a backlog keeps every slot",
    test: { file: FAIR_TEST, name: "go to tenants of equal weight alike, whatever priority their work has" },
  },
  {
    name: "an idle tenant saves up credit",
    file: SHARES,
    find: "  share.time = Math.max(share.time, share.pool.time);",
    replace: "",
    why: "a tenant that did nothing for an hour has the slots alone for an hour",
    test: { file: FAIR_TEST, name: "give an idle tenant no credit for the time in which it had nothing to do" },
  },
  {
    name: "the measured run time corrects nothing",
    file: SHARES,
    find: "  charge(share, costOf(share, us) - counted.charged);",
    replace: "",
    why: "tenants whose run times vary get more or less than their share",
    test: {
      file: `${ENGINE}/fair/fair.property.test.ts`,
      name: "the machine gives each slot to the tenant that the model of the fair order names",
    },
  },
  {
    name: "a release is charged",
    file: SHARES,
    find: "    charge(share, -charged);",
    replace: "    charge(share, 0 * charged);",
    why: "a tenant pays for attempts that have not run",
    test: {
      file: FAIR_TEST,
      name: "are free for others when an attempt has ended, and a released attempt costs its tenant nothing",
    },
  },
  {
    name: "attempts of other owners are not smoothed",
    file: `${ENGINE}/fair/others.ts`,
    find: "Math.trunc((attempts + latest) / 2)",
    replace: "latest",
    why: "owners that react to each other's figures of the last second overshoot in turns",
    test: { file: OTHERS_TEST, name: "count with all owners, each smoothed by a half" },
  },
  {
    name: "the rest of an average counts until it is nothing",
    file: `${ENGINE}/fair/others.ts`,
    find: "(latest === 0 ? REST_MIN : 1)",
    replace: "1",
    why: "a tenant that has no attempt gets no slot for ten seconds after its last one has ended at another owner",
    test: { file: OTHERS_TEST, name: "goes by virtual time between tenants whose attempts elsewhere have ended" },
  },
  {
    name: "an owner tells a snapshot of its attempts",
    file: SHARES,
    find: "Math.round((share.usedMs * ATTEMPT) / sinceMs)",
    replace: "share.running * ATTEMPT",
    why: "others react to a moment that is over when they hear of it",
    test: { file: OTHERS_TEST, name: "is the average of the time since it last did so" },
  },
  {
    name: "room in memory is divided by lanes",
    file: `${ENGINE}/queue/lane-room.ts`,
    find: "[tenants.size, tenants.get(lane.tenant) ?? 1]",
    replace: "[1, lanes.size]",
    why: "a tenant with very many concurrency keys leaves the others no memory",
    test: {
      file: `${ENGINE}/queue/lane-room.test.ts`,
      name: "is shared by tenants first, so the number of one's lanes takes nothing from another",
    },
  },
  {
    name: "slots are lent by rank alone",
    file: "packages/server/src/gateway/credits/credit-allocator.ts",
    find: "const fair = ofSmallestShare(willing);",
    replace: "const fair = willing;",
    why: "a tenant with work at one of several owners gets no more than that owner's part",
    test: {
      file: OWNERS_TEST,
      name: "go to a tenant with work at one owner as much as to a tenant with work at all of them",
    },
  },
  {
    name: "demand that becomes less urgent is not told",
    file: `${ENGINE}/queue/demand.ts`,
    find: "Math.abs(share - told) > ",
    replace: "told - share > ",
    why: "an owner goes on to get slots for a tenant that has had its share",
    test: {
      file: `${ENGINE}/fair/demand.test.ts`,
      name: "is told when the share of the tenant has changed by a tenth, up or down, and not more often than every 50 ms",
    },
  },
  {
    name: "the slots of lost shards stay in the shares of tenants",
    file: `${ENGINE}/attempts/attempts.ts`,
    find: "  state.shares.ended(assigned);",
    replace: "  if (step.batch.shards.has(entry.row.shard)) state.shares.ended(assigned);",
    why: "a tenant whose work moves to other owners gets fewer and fewer slots at its former owner",
    test: { file: FAIR_TEST, name: "count attempts that an earlier owner has assigned" },
  },
  {
    name: "a tenant's turn lasts as long as it has work",
    file: `${ENGINE}/queue/dispatch.ts`,
    find: "isShared: shares.contending > 1 }",
    replace: "isShared: false }",
    why: "the tenant whose turn it is gets all free slots, and all work that waits at workers",
    test: { file: FAIR_TEST, name: "go to tenants in fair order where work may wait at workers, too" },
  },
  {
    name: "no headroom is kept",
    file: HEADROOM,
    find: "return kept > 0 && free <= kept",
    replace: "return kept < 0 && free <= kept",
    why: "tenants with long runs fill the pool, and a quiet one waits for the end of a run",
    test: { file: HEADROOM_TEST, name: "lets a quiet tenant start at once beside 2 with runs of a minute" },
  },
  {
    name: "the headroom is kept from every tenant",
    file: HEADROOM,
    find: " && share.running >= Math.max(1, kept / active)",
    replace: "",
    why: "slots stay free for nobody",
    test: { file: HEADROOM_TEST, name: "is kept from a tenant with many attempts, and given to tenants with few" },
  },
  {
    name: "the headroom is a limit of each tenant",
    file: HEADROOM,
    find: "free <= kept && share.running >= Math.max(1, kept / active)",
    replace: "share.running >= running + free - kept",
    why: "two tenants with long runs fill the pool between them, and a quiet one waits for the end of a run",
    test: { file: HEADROOM_TEST, name: "lets a quiet tenant start at once beside 2 with runs of a minute" },
  },
  {
    name: "work that may wait at a worker counts as headroom",
    file: HEADROOM,
    find: "free += group.slots;",
    replace: "free += group.credits;",
    why: "a tenant fills all slots, and its work waits there before that of others",
    test: { file: HEADROOM_TEST, name: "is kept from work that would wait at a worker, too" },
  },
  {
    name: "a free slot of a worker that left counts as headroom",
    file: `${ENGINE}/workers/workers.ts`,
    find: "  group.slots -= worker.countedSlots;",
    replace: "",
    why: "the pool keeps no slot free, because it takes those of workers without connection for its headroom",
    test: { file: HEADROOM_TEST, name: "is a part of the slots that can be given now" },
  },
  {
    name: "an owner claims slots that it would keep as headroom",
    file: `${ENGINE}/queue/demand.ts`,
    find: "    if (isKeptFrom(first, work, state, 1)) continue;",
    replace: "",
    why: "owners take the free slots from each other in turns, and a quiet tenant finds none",
    test: {
      file: OWNERS_TEST,
      name: "come to a quiet tenant at once beside runs of a minute, where the pool has headroom",
    },
  },
  {
    name: "each lane is swept as if it were the only one",
    file: `${ENGINE}/queue/sweep.ts`,
    find: "known * state.lanes.size * SWEEP_MS_PER_ROW",
    replace: "known * SWEEP_MS_PER_ROW",
    why: "the rows of a thousand tenants are read again each second, whatever the rate at which they run",
    test: {
      file: `${ENGINE}/queue/sweep.test.ts`,
      name: "reads known rows again at one rate, however many lanes there are",
    },
  },
  {
    name: "each sweep adds to a full lane",
    file: `${ENGINE}/queue/sweep.ts`,
    find: "Math.min(room, SWEEP_BEYOND)",
    replace: "SWEEP_BEYOND",
    why: "the backlogs of ten thousand tenants come into memory whole, sixty-four executions of each at a time",
    test: {
      file: `${ENGINE}/queue/sweep.test.ts`,
      name: "finds a missed row at the front of a full lane, and brings in nothing from behind it",
    },
  },
];
