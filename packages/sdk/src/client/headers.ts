import { MainspringError } from "./errors.ts";

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * A text that goes into a header. Checked here: the platforms' own errors show the value, which may be a secret, and look
 * like those of a server that cannot be reached.
 * @throws {MainspringError} BAD_OPTION
 */
export function headerValue(option: string, value: string): string {
  if (VISIBLE_ASCII.test(value)) return value;
  throw new MainspringError("BAD_OPTION", `${option}: must be visible ASCII characters, without spaces or line breaks`);
}

/** The key of a server, by default the environment's; null where that is empty. */
export function apiKeyOf(given: string | undefined): string | null {
  const apiKey = given ?? process.env.MAINSPRING_API_KEY ?? "";
  return apiKey === "" ? null : headerValue("apiKey", apiKey);
}
