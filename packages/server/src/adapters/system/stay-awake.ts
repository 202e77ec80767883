const LONG_MS = 60_000;

/** Keeps the process from ending for want of work while something is waited for. @returns ends it */
export function stayAwake(): () => void {
  const handle = setInterval(() => undefined, LONG_MS);
  return () => clearInterval(handle);
}
