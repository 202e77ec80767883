import type { Mutant } from "./mutant.ts";

const LEDGER = "packages/server/src/engine/permits/ledger.ts";
const HOLDING = "packages/server/src/engine/permits/holding.ts";

/** In how limits of pools are kept. */
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
    find: "if (!isNews && !isRoll) return null;",
    replace: "if (!isNews) return null;",
    why: "a call that is lost, or answered too late, is never repeated, and permits lie where nobody uses them",
  },
  {
    name: "rate full after a takeover",
    file: "packages/server/src/engine/permits/bucket.ts",
    find: "#level = 0;",
    replace: "#level = Number.MAX_SAFE_INTEGER;",
    why: "what the home before has given out is given out once more",
  },
];
