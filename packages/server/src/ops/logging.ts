import { type DestinationStream, type LogFn, type Logger, pino } from "pino";
import { KEYS_IN_TEXT } from "../domain/api-key.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Config } from "./config.ts";
import { RepeatedLines } from "./repeated-lines.ts";

/** Log level, as a number, from which on repeated lines are counted. */
const WARN = 40;

/** Errors that say which external service is away. Their stack traces are useless, and there may be very many. */
const OUTAGES = ["StoreUnavailable", "LeasesUnavailable"];

/** Names of members that are secrets, anywhere in a logged object. */
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
 * The log: a JSON object a line, to standard output unless told otherwise. Passwords in URLs, API keys and tokens wherever they
 * stand, and members with the names of secrets are blotted out.
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
      streamWrite: (line: string) => withoutOrders(withoutKeys(withoutPasswords(line))),
      logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, number: number) {
        const written = repeats === null || number < WARN ? args : repeats.take(args);
        if (written !== null) method.apply(this, written as Parameters<LogFn>);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function errorWithoutSecrets(error: Error) {
  // Other members that drivers add to their errors are omitted, because they may contain data of rows. The message
  // contains the causes.
  const { type, message, stack, code } = pino.stdSerializers.err(error) as Record<string, unknown>;
  return { type, message, ...(!OUTAGES.includes(String(type)) && { stack }), ...(code !== undefined && { code }) };
}

/** Removes passwords from any field or sentence: `//user:password@` becomes `//user:[secret]@`. */
function withoutPasswords(text: string): string {
  return text.replace(/(\/\/[^\s/:@"]*):[^\s/@"]*@/g, "$1:[secret]@");
}

/** Tokens within a text: the header of a JWT is a JSON object. */
const TOKENS_IN_TEXT = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;

/** Removes API keys and tokens from any field or sentence: `msc_…` becomes `msc_[secret]`. */
function withoutKeys(text: string): string {
  return text.replace(KEYS_IN_TEXT, (key) => `${key.slice(0, 4)}[secret]`).replace(TOKENS_IN_TEXT, "[secret]");
}

/**
 * Characters that pino leaves unchanged and a terminal interprets: C1 control characters and marks of writing
 * direction.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the subject of the expression
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Escapes these characters, which occur only in strings, where JSON has escapes for them. */
function withoutOrders(line: string): string {
  return line.replace(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
