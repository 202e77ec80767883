import type { Case } from "../case.ts";

/** Says what is wrong, a sentence each; nothing: all is well. */
export type Rule = (of: Case) => string[];
