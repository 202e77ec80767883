import { TerminalError } from "./retry-errors.ts";

/** Regular expression of the name of a branch, which equals that of the server. */
export const NODE_NAME_PATTERN = "^[A-Za-z0-9_.-]{1,64}$";
const NAME = new RegExp(NODE_NAME_PATTERN);

/** Whether a value can be the name of a branch. */
export function isBranchName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

/** @throws {TerminalError} InvalidBranch: the text cannot be the name of a branch */
export function branchName(name: unknown): string {
  if (isBranchName(name)) return name;
  const given = typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : typeof name;
  const message = `ctx.branch takes a name of 1 to 64 letters, digits, "_", "." and "-", not ${given}`;
  throw Object.assign(new TerminalError(message), { name: "InvalidBranch" });
}
