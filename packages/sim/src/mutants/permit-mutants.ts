import type { Mutant } from "./mutant.ts";

const LEDGER = "packages/server/src/engine/permits/permit-ledger.ts";
const PERMITS = "packages/server/src/engine/permits/permits.ts";
const TENANTS = "packages/server/src/engine/permits/tenant-permits.ts";
const TENANTS_TEST = "packages/server/src/engine/permits/tenant-permits.test.ts";
const HOLDING = "packages/server/src/engine/permits/pool-permits.ts";

/** Mutants in the limits of pools and tenants. */
export const permitMutants: readonly Mutant[] = [
  {
    name: "permit granted twice after a takeover",
    file: LEDGER,
    find: "this.#isComplete ||= this.#areAllDeclared();",
    replace: "this.#isComplete = true;",
    why: "a new home grants before it knows what is out",
  },
  {
    name: "permit of a dead owner forgotten",
    file: LEDGER,
    find: "if (shards.size === 0) this.#accounts.delete(name);",
    replace: "if (shards.size < 32) this.#accounts.delete(name);",
    why: "attempts of shards that nobody has declared since are not counted",
  },
  {
    name: "permits are asked for once",
    file: HOLDING,
    find: "if (!isChanged && !isRepeat) return null;",
    replace: "if (!isChanged) return null;",
    why: "a call that is lost, or answered too late, is never repeated, and permits lie where nobody uses them",
  },
  {
    name: "rate full after a takeover",
    file: "packages/server/src/engine/permits/bucket.ts",
    find: "#level = 0;",
    replace: "#level = Number.MAX_SAFE_INTEGER;",
    why: "what the home before has given out is given out once more",
  },
  {
    name: "permits of adopted attempts are used again by an unknown count",
    file: HOLDING,
    find: "!this.#isWithinLimit || ",
    replace: "",
    why: "a pool whose limit was lowered while shards had no owner stays above the limit",
    test: {
      file: "packages/server/src/engine/permits/permits.test.ts",
      name: "starts none in place of an adopted attempt while a shard has no owner, whose attempts nobody knows",
    },
  },
  {
    name: "the limit of a tenant ignores adopted attempts",
    file: PERMITS,
    find: "    permits.adopted(shard);\n",
    replace: "",
    why: "after a takeover a tenant has its whole limit again beside what runs already",
    test: {
      file: TENANTS_TEST,
      name: "counts attempts of an earlier owner, those of every pool, and those of `default` like any other's",
    },
  },
  {
    name: "a tenant's permits go back before the pool's come",
    file: HOLDING,
    find: "this.#isModest && (this.tenant === null || isRepeat)",
    replace: "this.#isModest",
    why: "a tenant whose limit is contested never has both permits at once in a pool whose limit is contested too",
    test: {
      file: TENANTS_TEST,
      name: "keeps its permit until that of a contested pool has come, for a second at most",
    },
  },
  {
    name: "the permit of a tenant is not freed by the end of an attempt",
    file: PERMITS,
    find: "    if (ofTenant !== undefined) freed.push({ executionId, shard, poolPermits: ofTenant });\n",
    replace: "",
    why: "a tenant with a limit stands still when it has run as many attempts",
    test: { file: TENANTS_TEST, name: "starts the next one when the end of one is durable" },
  },
  {
    name: "attempts that run when a tenant gets a limit are not counted",
    file: TENANTS,
    find: "if (ofTenant !== undefined && added.has(ofTenant)) ofTenant.adopted(shard);",
    replace: "",
    why: "a limit that is set on a running backlog is exceeded until the backlog has ended",
    test: {
      file: TENANTS_TEST,
      name: "starts nothing more when the limit comes or is lowered, until enough has ended, and all when it is removed",
    },
  },
  {
    name: "tenants without use are never called for",
    file: TENANTS,
    find: "  if (!isRepeat || active.size === byTenant.size) return [...active];",
    replace: "  return [...active];",
    why: "a new coordinator never learns of the machine, and grants nothing",
    test: { file: TENANTS_TEST, name: "name only tenants with use or wish, and a few others in turn" },
  },
  {
    name: "a reason tells that a tenant waits for a turn although it has fewer attempts",
    file: "packages/server/src/engine/explain.ts",
    find: "other !== share && other.nodes.size > 0 && goesBefore(other, share)",
    replace: "other !== share && other.nodes.size > 0",
    why: "the tenant whose turn it is looks in the wrong place for the cause",
    test: {
      file: TENANTS_TEST,
      name: "says that it is the turn of others, without a figure of theirs",
    },
  },
];
