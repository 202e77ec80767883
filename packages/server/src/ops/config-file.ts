import { readFileSync } from "node:fs";

/** Error: the configuration cannot be used. The message names each wrong key and says what would be right. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

type Texts = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file that MAINSPRING_CONFIG names.
 * @param names keys of the configuration
 * @throws {ConfigError} the file cannot be read, or has other keys
 */
export function readConfigFile(path: string, names: readonly string[]): Texts {
  const content = parseFile(path);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`MAINSPRING_CONFIG: ${path} must hold a JSON object with keys such as MAINSPRING_HTTP`);
  }
  const entries = Object.entries(content);
  const errors = entries.flatMap(([name, value]) => fileError(name, value, names));
  if (errors.length > 0) throw new ConfigError(errors.map((error) => `${path}: ${error}`).join("\n"));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function fileError(name: string, value: unknown, names: readonly string[]): string[] {
  if (!names.includes(name)) {
    return [`${name} is no key of the configuration: the keys are ${names.join(", ")}`];
  }
  return typeof value === "string" || typeof value === "number" ? [] : [`${name} must be a string or a number`];
}

/**
 * Reads a setting from a file of its own, as secrets of containers and credentials of systemd are. Line breaks at the end do not
 * belong to the value.
 * @param variable variable that names the file, for messages
 * @throws {ConfigError} the file cannot be read, or has no value
 */
export function readValueFile(variable: string, path: string): string {
  const value = readText(variable, path).replace(/[\r\n]+$/, "");
  if (value === "") throw new ConfigError(`${variable} must name a file that is not empty: ${path}`);
  return value;
}

function readText(variable: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${variable} must name a file that can be read: ${path} (${code})`, { cause: error });
  }
}

function parseFile(path: string): unknown {
  const content = readText("MAINSPRING_CONFIG", path);
  try {
    return JSON.parse(content);
  } catch {
    // The parser's message would quote the file, and perhaps a password in it.
    throw new ConfigError(`MAINSPRING_CONFIG: ${path} is not JSON`);
  }
}
