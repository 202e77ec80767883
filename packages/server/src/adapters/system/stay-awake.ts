const LONG_MS = 60_000;

/** Keeps the process alive during a wait. @returns function that ends it */
export function stayAwake(): () => void {
  const handle = setInterval(() => undefined, LONG_MS);
  return () => clearInterval(handle);
}
