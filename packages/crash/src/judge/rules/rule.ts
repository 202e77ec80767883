import type { Case } from "../case.ts";

/** A rule returns a sentence for each violation; none: the rule holds. */
export type Rule = (of: Case) => string[];
