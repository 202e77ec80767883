import type { Mutant } from "./mutant.ts";

const LEDGER = "packages/server/src/engine/permits/permit-ledger.ts";
const HOLDING = "packages/server/src/engine/permits/pool-permits.ts";

/** Mutants in the limits of pools. */
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
];
