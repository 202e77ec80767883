/** The handler of isolated.ts. It computes in the slowest way, and never returns to the event loop in between. */
export function fibonacci({ n }: { n: number }): number {
  return n < 2 ? n : fibonacci({ n: n - 1 }) + fibonacci({ n: n - 2 });
}
