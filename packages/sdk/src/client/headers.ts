import { MainspringError } from "../errors.ts";

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * Checks a text that becomes the value of a header. The client checks it here because the platforms' own errors show
 * the value, which may be a secret, and look like those of an unreachable server.
 * @throws {MainspringError} BAD_OPTION if a header cannot contain the text
 */
export function headerValue(option: string, value: string): string {
  if (VISIBLE_ASCII.test(value)) return value;
  throw new MainspringError("BAD_OPTION", `${option}: must be visible ASCII characters, without spaces or line breaks`);
}
