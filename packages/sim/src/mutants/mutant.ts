/** A bug, planted into the source of the product when it is loaded: so that the product carries no switches for it. */
export interface Mutant extends Edit {
  name: string;
  /** Further places where the bug is. */
  also?: readonly Edit[];
  /** What the bug would do. */
  why: string;
}

export interface Edit {
  /** From the repository's root. */
  file: string;
  /** Must be there exactly once. */
  find: string;
  replace: string;
}
