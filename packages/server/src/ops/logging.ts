import { type DestinationStream, type LogFn, type Logger, pino } from "pino";
import type { Runtime } from "../ports/runtime.ts";
import type { Config } from "./config.ts";
import { RepeatedLines } from "./repeated-lines.ts";

/** The number of a level from which on lines that repeat are counted. */
const WARN = 40;

/** Errors that say which part of the world is away: their stack says nothing of it, and there may be very many. */
const OUTAGES = ["StoreUnavailable", "LeasesUnavailable"];

/** Wherever these stand in what is logged, they are secrets. */
const SECRETS = [
  "apiKey",
  "apiKeyAlso",
  "clusterSecret",
  "clusterSecretAlso",
  "password",
  "authorization",
  "connectionString",
];

/**
 * The log: a JSON object a line, to standard output unless told otherwise. Passwords in URLs and members with the names
 * of secrets are blotted out.
 * @param clock where there is one, warnings and errors that repeat are counted instead of written
 */
export function createLog(
  level: Config["logLevel"],
  destination?: DestinationStream,
  clock?: Pick<Runtime, "monotonicMs">,
): Logger {
  const repeats = clock === undefined ? null : new RepeatedLines(clock);
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: "[secret]" },
    serializers: { err: errorWithoutSecrets },
    hooks: {
      streamWrite: (line: string) => withoutOrders(withoutPasswords(line)),
      logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, number: number) {
        const written = repeats === null || number < WARN ? args : repeats.take(args);
        if (written !== null) method.apply(this, written as Parameters<LogFn>);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function errorWithoutSecrets(error: Error) {
  // Other members that drivers add to their errors are left out, because they may hold the rows' data. Causes are in
  // the message.
  const { type, message, stack, code } = pino.stdSerializers.err(error) as Record<string, unknown>;
  return { type, message, ...(!OUTAGES.includes(String(type)) && { stack }), ...(code !== undefined && { code }) };
}

/** In whatever field or sentence it stands: `//user:password@` becomes `//user:[secret]@`. */
function withoutPasswords(text: string): string {
  return text.replace(/(\/\/[^\s/:@"]*):[^\s/@"]*@/g, "$1:[secret]@");
}

/**
 * Characters that pino leaves as they are and a terminal obeys: C1 control characters and marks of writing direction.
 */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** They only stand in strings, where JSON has escapes for them. */
function withoutOrders(line: string): string {
  return line.replace(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
