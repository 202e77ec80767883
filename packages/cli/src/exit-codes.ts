/** How the command ends, for scripts. */
export const EXIT = {
  ok: 0,
  /** Refused by the server, or it failed here. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** No server answered. */
  unreachable: 3,
  /** With --wait: the execution is final and did not succeed. */
  notSucceeded: 4,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
