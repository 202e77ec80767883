/** The handler of isolated.ts, in the simplest and slowest way there is; it never comes back to the loop in between. */
export function fibonacci({ n }: { n: number }): number {
  return n < 2 ? n : fibonacci({ n: n - 1 }) + fibonacci({ n: n - 2 });
}
