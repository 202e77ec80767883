/** Exit codes of the command, for scripts. */
export const EXIT = {
  ok: 0,
  /** The server refused the request, or the command failed. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** No server answered. */
  unreachable: 3,
  /** With --wait and watch: the execution or the workflow is final and did not succeed. */
  notSucceeded: 4,
  /** The configuration cannot be used; the number is that of EX_CONFIG in sysexits.h, so that a supervisor need not try again. */
  configuration: 78,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
